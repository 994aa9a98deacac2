# Writes a file as an array of C, so that the program carries it:
#     cmake -D INPUT=page.html -D OUTPUT=page.c -D NAME=elapse__page -P embed.cmake
# defines `const unsigned char NAME[]`, with a terminator behind it, and `const size_t NAME_bytes`.
file(READ "${INPUT}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
# A line for each 8 bytes.
string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
get_filename_component(file "${INPUT}" NAME)
file(WRITE "${OUTPUT}"
    "/* ${file}, as cmake/embed.cmake writes it. */\n"
    "#include <stddef.h>\n\n"
    "extern const unsigned char ${NAME}[];\n"
    "extern const size_t ${NAME}_bytes;\n\n"
    "const unsigned char ${NAME}[] = {\n${bytes}0x00};\n"
    "const size_t ${NAME}_bytes = ${size};\n")
