# Read by find_package(Overlaid).
include("${CMAKE_CURRENT_LIST_DIR}/Overlaid.cmake")
