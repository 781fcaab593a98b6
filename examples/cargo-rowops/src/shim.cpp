// What src/main.rs calls: C names for two functions of rowops.
#include <rowops/rowops.h>

#include <rowops/app_scale.h>

extern "C" int app_argmax(const float* x, int axis) {
  int y = -1;
  rowops::argmax(rowops::dtype::f32, x, &y, 1, axis);
  return y;
}

extern "C" float app_logsumexp(const float* x, int axis) {
  float y = 0;
  rowops::logsumexp(rowops::dtype::f32, x, &y, 1, axis);
  return y * rowops::app_scale;
}
