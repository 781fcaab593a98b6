# Gives FetchContent a source directory that is pinned and overlaid.
#
#   overlaid_fetch(
#     NAME <name>                     name of the content, as for FetchContent_Declare
#     MANIFEST <file>                 manifest of the upstream, relative to the current source directory
#     [FEATURES <feature>...]         features that are on, besides those of the profile
#     [PROFILE <profile>]             profile of the manifest whose features are on
#     [ROOT <dir>]                    repository that the manifest's paths are relative to. Default: the folder above
#                                     the manifest's folder `manifests`, or the manifest's own folder
#     [TREE <dir>]                    where the tree goes. Default: <name>-src in FETCHCONTENT_BASE_DIR
#     [OVERLAID_EXECUTABLE <file>]    the program. Default: the cache variable of this name, else found
#     [DOWNLOAD_ONLY]                 make the tree, do not add it to the build
#     [SOURCE_SUBDIR <dir>] [BINARY_DIR <dir>] [EXCLUDE_FROM_ALL] [SYSTEM]    as for FetchContent_Declare
#   )
#
# Sets <lowercase name>_SOURCE_DIR, _BINARY_DIR and _POPULATED, as FetchContent_MakeAvailable does, and
# <lowercase name>_OVERLAID_FINGERPRINT, a hash of pin, overlays and features: that of the tree. It is empty if the tree is
# kept as it is and is not known to be what it was made.
#
# FETCHCONTENT_SOURCE_DIR_<UPPERCASE NAME>   that folder is used as it is, without overlays
# FETCHCONTENT_FULLY_DISCONNECTED            the tree is used as it is; a warning says if it is behind
# FETCHCONTENT_UPDATES_DISCONNECTED          nothing is fetched; overlays are applied
# OVERLAID_UPSTREAM_<NAME>                   a clone to read the upstream from, as the environment variable
#
# Works with CMake 3.20 and later. This file may be copied into a project: it needs only the program `overlaid`.

include_guard(GLOBAL)
include(FetchContent)

cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

# Stops with text of the program, as it was printed.
function(_overlaid_fail name what text)
  string(ASCII 27 escape)
  string(REGEX REPLACE "${escape}\\[[0-9;]*m" "" text "${text}")
  string(STRIP "${text}" text)
  # Indented lines are shown as they are.
  string(REPLACE "\n" "\n  " text "${text}")
  message(FATAL_ERROR "overlaid_fetch(${name}): ${what}\n  ${text}\n")
endfunction()

# Shows the warnings that the program gave; its notes only if FetchContent is to be heard.
function(_overlaid_tell name text)
  string(ASCII 27 escape)
  string(REGEX REPLACE "${escape}\\[[0-9;]*m" "" text "${text}")
  set(notes "")
  while(NOT text STREQUAL "")
    string(FIND "${text}" "\n" end)
    if(end EQUAL -1)
      set(line "${text}")
      set(text "")
    else()
      string(SUBSTRING "${text}" 0 ${end} line)
      math(EXPR end "${end} + 1")
      string(SUBSTRING "${text}" ${end} -1 text)
    endif()
    if(line MATCHES "^warning: ")
      string(REGEX REPLACE "^warning: " "" line "${line}")
      message(WARNING "overlaid_fetch(${name}): ${line}")
    elseif(NOT line STREQUAL "")
      string(APPEND notes "\n  ${line}")
    endif()
  endwhile()
  if(notes AND NOT FETCHCONTENT_QUIET)
    message(STATUS "overlaid: ${name}:${notes}")
  endif()
endfunction()

# Gives what the tree says its fingerprint is; nothing if it says nothing.
function(_overlaid_attested tree out)
  set(${out} "" PARENT_SCOPE)
  set(attestation "${tree}/.overlaid/attestation.json")
  if(EXISTS "${attestation}")
    file(READ "${attestation}" text)
    string(JSON fingerprint ERROR_VARIABLE wrong GET "${text}" fingerprint)
    if(NOT wrong)
      set(${out} "${fingerprint}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Where the program is.
function(_overlaid_program given out)
  if(given)
    get_filename_component(given "${given}" ABSOLUTE)
    set(${out} "${given}" PARENT_SCOPE)
    return()
  endif()
  find_program(OVERLAID_EXECUTABLE overlaid
    HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin"
    DOC "The program overlaid, which makes pinned and overlaid source trees")
  set(${out} "${OVERLAID_EXECUTABLE}" PARENT_SCOPE)
endfunction()

# Runs the program with the CMake variables OVERLAID_UPSTREAM_* in its environment.
function(_overlaid_run command code_out script_out messages_out)
  get_cmake_property(names VARIABLES)
  list(FILTER names INCLUDE REGEX "^OVERLAID_UPSTREAM_")
  foreach(name IN LISTS names)
    set(before_${name} "$ENV{${name}}")
    set(ENV{${name}} "${${name}}")
  endforeach()
  execute_process(COMMAND ${command}
    RESULT_VARIABLE code OUTPUT_VARIABLE script ERROR_VARIABLE messages)
  foreach(name IN LISTS names)
    set(ENV{${name}} "${before_${name}}")
  endforeach()
  set(${code_out} "${code}" PARENT_SCOPE)
  set(${script_out} "${script}" PARENT_SCOPE)
  set(${messages_out} "${messages}" PARENT_SCOPE)
endfunction()

# Refuses what FetchContent has filled in already with something else.
function(_overlaid_check_first name lower request)
  FetchContent_GetProperties(${name})
  if(NOT ${lower}_POPULATED)
    return()
  endif()
  get_property(earlier GLOBAL PROPERTY _OVERLAID_${lower}_REQUEST)
  if(NOT earlier)
    message(FATAL_ERROR "overlaid_fetch(${name}): it was filled in before, without overlays:\n"
      "  ${${lower}_SOURCE_DIR}\n"
      "Call overlaid_fetch(NAME ${name}) before whatever calls FetchContent_MakeAvailable(${name}).")
  elseif(NOT earlier STREQUAL request)
    message(FATAL_ERROR "overlaid_fetch(${name}): it was asked for before, with other arguments:\n"
      "  before: ${earlier}\n  now:    ${request}\n")
  endif()
endfunction()

# Makes the tree. Gives the caller _overlaid_name, _overlaid_upper and, unless a folder was chosen for the content by
# hand, _overlaid_source_dir.
function(_overlaid_prepare)
  set(options DOWNLOAD_ONLY EXCLUDE_FROM_ALL SYSTEM)
  set(single NAME MANIFEST PROFILE ROOT TREE OVERLAID_EXECUTABLE SOURCE_SUBDIR BINARY_DIR)
  cmake_parse_arguments(PARSE_ARGV 0 arg "${options}" "${single}" "FEATURES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "overlaid_fetch: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  # FEATURES ${some} may well be empty.
  list(REMOVE_ITEM arg_KEYWORDS_MISSING_VALUES FEATURES)
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "overlaid_fetch: these need a value: ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  foreach(needed NAME MANIFEST)
    if(NOT arg_${needed})
      message(FATAL_ERROR "overlaid_fetch: ${needed} is missing")
    endif()
  endforeach()
  if(arg_SYSTEM AND CMAKE_VERSION VERSION_LESS 3.25)
    message(FATAL_ERROR "overlaid_fetch(${arg_NAME}): SYSTEM needs CMake 3.25")
  endif()
  if(arg_EXCLUDE_FROM_ALL AND CMAKE_VERSION VERSION_LESS 3.28)
    message(FATAL_ERROR "overlaid_fetch(${arg_NAME}): EXCLUDE_FROM_ALL needs CMake 3.28")
  endif()

  string(TOLOWER "${arg_NAME}" lower)
  string(TOUPPER "${arg_NAME}" upper)
  set(_overlaid_name "${arg_NAME}" PARENT_SCOPE)
  set(_overlaid_upper "${upper}" PARENT_SCOPE)
  set(_overlaid_source_dir "" PARENT_SCOPE)
  set(${lower}_OVERLAID_FINGERPRINT "" PARENT_SCOPE)

  get_filename_component(manifest "${arg_MANIFEST}" ABSOLUTE)
  if(arg_ROOT)
    get_filename_component(root "${arg_ROOT}" ABSOLUTE)
  else()
    get_filename_component(root "${manifest}" DIRECTORY)
    get_filename_component(folder "${root}" NAME)
    if(folder STREQUAL "manifests")
      get_filename_component(root "${root}" DIRECTORY)
    endif()
  endif()
  file(RELATIVE_PATH manifest "${root}" "${manifest}")
  if(arg_TREE)
    get_filename_component(tree "${arg_TREE}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  else()
    set(tree "${FETCHCONTENT_BASE_DIR}/${lower}-src")
  endif()

  # FetchContent takes details from the first who declares them, and so do we.
  set(details SOURCE_DIR "${tree}")
  foreach(detail SOURCE_SUBDIR BINARY_DIR)
    if(arg_${detail})
      list(APPEND details ${detail} "${arg_${detail}}")
    endif()
  endforeach()
  foreach(detail EXCLUDE_FROM_ALL SYSTEM)
    if(arg_${detail})
      list(APPEND details ${detail})
    endif()
  endforeach()
  if(arg_DOWNLOAD_ONLY)
    # FetchContent adds a folder only if it has a CMakeLists.txt.
    list(APPEND details SOURCE_SUBDIR ".overlaid/not-to-be-added")
  endif()

  if(FETCHCONTENT_SOURCE_DIR_${upper})
    message(STATUS "overlaid: ${arg_NAME} is ${FETCHCONTENT_SOURCE_DIR_${upper}} as it is, without overlays")
    FetchContent_Declare(${arg_NAME} ${details})
    return()
  endif()
  set(request "${manifest} in ${root}, features (${arg_FEATURES}), profile (${arg_PROFILE}), tree ${tree}")
  _overlaid_check_first("${arg_NAME}" "${lower}" "${request}")
  if(EXISTS "${tree}/CMakeLists.txt" AND NOT EXISTS "${tree}/.overlaid")
    message(FATAL_ERROR "overlaid_fetch(${arg_NAME}): something else has filled\n  ${tree}\n"
      "so nothing says that it is at the pin. Remove it and configure again.")
  endif()

  _overlaid_program("${arg_OVERLAID_EXECUTABLE}" program)
  if(NOT program OR NOT EXISTS "${program}")
    message(FATAL_ERROR "overlaid_fetch(${arg_NAME}): the program overlaid is not there. Install it "
      "(cargo install --path . in a clone of overlaid's repository), or say where it is: -DOVERLAID_EXECUTABLE=/path/to/overlaid")
  endif()
  set(command "${program}" -C "${root}" -m "${manifest}")
  if(arg_PROFILE)
    list(APPEND command --profile "${arg_PROFILE}")
  endif()
  if(arg_FEATURES)
    list(JOIN arg_FEATURES "," features)
    list(APPEND command --features "${features}")
  endif()
  if(FETCHCONTENT_FULLY_DISCONNECTED)
    if(NOT EXISTS "${tree}")
      message(FATAL_ERROR "overlaid_fetch(${arg_NAME}): FETCHCONTENT_FULLY_DISCONNECTED is on, and the tree is not "
        "there:\n  ${tree}\nConfigure once without it.")
    endif()
    list(APPEND command --offline apply --dry-run)
  elseif(FETCHCONTENT_UPDATES_DISCONNECTED OR FETCHCONTENT_UPDATES_DISCONNECTED_${upper})
    list(APPEND command --offline apply)
  else()
    list(APPEND command apply)
    if(NOT EXISTS "${tree}" AND NOT FETCHCONTENT_QUIET)
      message(STATUS "overlaid: making ${tree}")
    endif()
  endif()
  list(APPEND command --cmake --tree "${tree}")

  _overlaid_run("${command}" code script messages)
  if(FETCHCONTENT_FULLY_DISCONNECTED AND NOT code STREQUAL "0")
    string(STRIP "${messages}" messages)
    string(REPLACE "\n" "\n  " messages "${messages}")
    if(code STREQUAL "1")
      message(WARNING "overlaid_fetch(${arg_NAME}): the tree is not what the manifest says, and "
        "FETCHCONTENT_FULLY_DISCONNECTED keeps it as it is:\n  ${tree}\n")
    elseif(code STREQUAL "3")
      # Somebody's edits are in the tree, or the overlays do not fit: it is not what it says either.
      message(WARNING "overlaid_fetch(${arg_NAME}): the tree is not what the manifest says, and "
        "FETCHCONTENT_FULLY_DISCONNECTED keeps it as it is:\n  ${messages}\n")
      set(script "")
    else()
      message(WARNING "overlaid_fetch(${arg_NAME}): cannot tell whether the tree is what the manifest says:\n"
        "  ${messages}\n")
      _overlaid_attested("${tree}" attested)
      set(script "set(OVERLAID_RESULT_FINGERPRINT [[${attested}]])")
    endif()
  elseif(NOT code STREQUAL "0")
    if(NOT code MATCHES "^[0-9]+$")
      string(PREPEND messages "${program}: ${code}\n")
    endif()
    _overlaid_fail("${arg_NAME}" "the tree cannot be made; overlaid says" "${messages}")
  else()
    _overlaid_tell("${arg_NAME}" "${messages}")
  endif()

  set(OVERLAID_RESULT_DEPENDS "")
  set(OVERLAID_RESULT_FINGERPRINT "")
  cmake_language(EVAL CODE "${script}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${OVERLAID_RESULT_DEPENDS}")
  set_property(GLOBAL PROPERTY _OVERLAID_${lower}_REQUEST "${request}")
  FetchContent_Declare(${arg_NAME} ${details})
  # With an entry in the cache, FetchContent leaves the variable alone that overlaid_fetch sets.
  set(FETCHCONTENT_SOURCE_DIR_${upper} "" CACHE PATH
    "When not empty, overrides where to find pre-populated content for ${arg_NAME}")
  set(_overlaid_source_dir "${tree}" PARENT_SCOPE)
  set(${lower}_OVERLAID_FINGERPRINT "${OVERLAID_RESULT_FINGERPRINT}" PARENT_SCOPE)
endfunction()

cmake_policy(POP)

# A macro, as FetchContent_MakeAvailable is one: what the upstream sets in its parent's scope arrives there.
macro(overlaid_fetch)
  _overlaid_prepare(${ARGV})
  if(_overlaid_source_dir)
    set(FETCHCONTENT_SOURCE_DIR_${_overlaid_upper} "${_overlaid_source_dir}")
    FetchContent_MakeAvailable(${_overlaid_name})
    unset(FETCHCONTENT_SOURCE_DIR_${_overlaid_upper})
  else()
    FetchContent_MakeAvailable(${_overlaid_name})
  endif()
  unset(_overlaid_name)
  unset(_overlaid_upper)
  unset(_overlaid_source_dir)
endmacro()
