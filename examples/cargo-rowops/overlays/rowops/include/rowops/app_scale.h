// What the program multiplies logarithms by.
#pragma once

namespace rowops {

constexpr float app_scale = 1.0f;

}  // namespace rowops
