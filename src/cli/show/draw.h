/*
 * Draws a snapshot of a wheel as a picture.
 *
 *     level 1   128 slots of 128 ticks   4 timers in 3 slots
 *          +v now; [0,255] is on level 0 -----------------------------------+
 *     >  0 |  1....2...............................1........................| 63
 *       64 |................................................................| 127
 *          +- covers [256,16383] -------------------------------------------+
 *          slot   2  [256,383]    1 timer   due 300
 *          slot   7  [896,1023]   2 timers  due 1000, 1010
 *          slot  39  [4992,5119]  1 timer   due 5000
 */
#ifndef ELAPSE_CLI_SHOW_DRAW_H
#define ELAPSE_CLI_SHOW_DRAW_H

#include <stdbool.h>

#include "canvas.h"
#include "model.h"
#include "phrase.h"

/* Draws the whole wheel. Each occupied level has a list of its first occupied slots, or of all if
 * `all_slots`. The empty levels between have one line together. */
void draw_wheel(struct show_canvas *canvas, const struct show_wheel *show,
                const struct show_snapshot *snapshot, bool all_slots);

/* Draws a wheel in fewer lines. The slots of a level take one line. The levels from `level_limit`
 * on are left out, and a line says so. */
void draw_wheel_briefly(struct show_canvas *canvas, const struct show_wheel *show,
                        const struct show_snapshot *snapshot, unsigned level_limit);

/* Draws the slots of one level as a framed strip of cells. */
void draw_strip(struct show_canvas *canvas, const struct show_geometry *geometry, unsigned level,
                const struct show_snapshot *snapshot);

/* Explains the pictures. */
void draw_legend(struct show_canvas *canvas, enum show_design design);

#endif
