/*
 * The drawing of "elapse show": a snapshot of a wheel as a picture.
 *
 *     level 1   64 slots of 128 ticks   4 timers in 3 slots
 *          +v now; [0,127] is on level 0 -----------------------------------+
 *        0 | 1.....2...............................1........................| 63
 *          +- covers [128,8191] --------------------------------------------+
 *          slot   1  [128,255]    1 timer   due 200
 *          slot   7  [896,1023]   2 timers  due 1000, 1010
 *          slot  39  [4992,5119]  1 timer   due 5000
 */
#ifndef ELAPSE_CLI_SHOW_DRAW_H
#define ELAPSE_CLI_SHOW_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "canvas.h"
#include "model.h"
#include "phrase.h"

/* The whole wheel: its occupied levels, each with its occupied slots (a few, or
 * all of them) below; a line for those between that are empty. */
void draw_wheel(struct show_canvas *canvas, const struct show_wheel *show,
                const struct show_snapshot *snapshot, bool all_slots);

/* The same in fewer lines: the slots of a level on one, and levels from
 * `level_limit` on left out, which a line tells. */
void draw_wheel_briefly(struct show_canvas *canvas, const struct show_wheel *show,
                        const struct show_snapshot *snapshot, unsigned level_limit);

/* The slots of one level, as a framed strip of cells. */
void draw_strip(struct show_canvas *canvas, const struct show_geometry *geometry, unsigned level,
                const struct show_snapshot *snapshot);

/* How the pictures are to be read. */
void draw_legend(struct show_canvas *canvas, enum show_design design);

#endif
