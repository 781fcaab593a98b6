# Fails when CMake is too old.
cmake_minimum_required(VERSION 3.20)
