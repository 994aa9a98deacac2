/*
 * Collects what the page shows once a second: rates, figures of the last minute, the tubes in
 * trouble and the busiest tubes. It looks at tubes in slices, so that no look delays the loop.
 */
#ifndef ELAPSE__HTTP_FIGURES_H
#define ELAPSE__HTTP_FIGURES_H

#include "../loop/loop.h"
#include "status.h"

struct elapse__http_figures;

/* Begins to collect. Returns NULL if there is no memory. */
struct elapse__http_figures *elapse__http_figures_open(struct elapse__loop *loop);

/* Ends the collecting, and frees the figures. Ignores NULL. */
void elapse__http_figures_close(struct elapse__http_figures *figures);

/* Says whether somebody reads the figures. While somebody does, all tubes are looked at each
 * second, even very many. */
void elapse__http_figures_set_watched(struct elapse__http_figures *figures, bool is_watched);

/* Stores the present state. If `is_long`, it has the forecast of hours and days, too.
 * `status->tubes` points into the figures, and is valid until the next event of the loop. */
void elapse__http_figures_look(struct elapse__http_figures *figures, bool is_long,
                               struct elapse__http_status *status);

/* Returns whether the queue lies on a disk. */
bool elapse__http_has_disk(const struct elapse__loop *loop);

#endif
