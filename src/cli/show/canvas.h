/*
 * The canvas of "elapse show": lines of text that go on in another line where the
 * terminal ends, with box drawing and colour where they are wanted, in plain ASCII
 * elsewhere. A line is broken between words, never within a number.
 *
 * Everything is drawn with glyphs and styles; which characters and escape
 * sequences stand for them is known here alone.
 */
#ifndef ELAPSE_CLI_SHOW_CANVAS_H
#define ELAPSE_CLI_SHOW_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum show_style {
    STYLE_PLAIN,
    STYLE_FAINT,   /* what holds no timer */
    STYLE_STRONG,  /* headings */
    STYLE_TIMER,   /* slots with timers */
    STYLE_POINTER, /* where the wheel stands */
    STYLE_FIRED,
};

enum show_glyph {
    GLYPH_EMPTY_SLOT,
    GLYPH_PASSED_SLOT,
    GLYPH_MANY_TIMERS,
    GLYPH_POINTER,
    GLYPH_HORIZONTAL,
    GLYPH_VERTICAL,
    GLYPH_TOP_LEFT,
    GLYPH_TOP_RIGHT,
    GLYPH_BOTTOM_LEFT,
    GLYPH_BOTTOM_RIGHT,
};

/* How to draw: what the terminal can do, and what the user wants of it. */
struct show_look {
    unsigned columns;
    unsigned rows;  /* 0: no end */
    bool is_narrow; /* the terminal has fewer columns than these */
    bool is_unicode;
    bool has_colour;
    bool is_animated; /* the output is a terminal on which the cursor can move */
};

/* The look that suits standard output. */
struct show_look show_look_of_output(bool ascii_only);

/* The size of the terminal may change at any time; this asks again. */
void show_look_measure(struct show_look *look);

/* A picture that is being drawn. `text` holds it after canvas_finish. */
struct show_canvas {
    struct show_look look;
    FILE *stream;
    char *text;
    size_t bytes;
    unsigned column;
    unsigned blanks; /* that come before the next word, if it is in this line */
    unsigned indent; /* of the lines that this one goes on in */
    enum show_style style;
};

void canvas_begin(struct show_canvas *canvas, const struct show_look *look);

/* Text in ASCII. Words for which there is no room go to another line; so a comma
 * must come with the word that it follows. */
__attribute__((format(printf, 3, 4))) void
canvas_text(struct show_canvas *canvas, enum show_style style, const char *format, ...);

void canvas_glyph(struct show_canvas *canvas, enum show_style style, enum show_glyph glyph);

/* Blanks up to the column, if the line has not come so far yet. */
void canvas_move_to(struct show_canvas *canvas, unsigned column);

/* How many columns are left in the line. */
unsigned canvas_room(const struct show_canvas *canvas);

/* Writes the separator before a part of a list, or " ..." instead of a part of
 * `part_columns` columns for which there is no room; false then. The first part
 * has no separator (NULL), and goes to another line if it must. */
bool canvas_list_next(struct show_canvas *canvas, const char *separator, bool is_last,
                      unsigned part_columns);

void canvas_end_line(struct show_canvas *canvas);

/* Ends the picture; `text` is its lines, and is to be freed. */
void canvas_finish(struct show_canvas *canvas);

/* Ends the picture, writes it to standard output, and frees it. */
void canvas_print(struct show_canvas *canvas);

#endif
