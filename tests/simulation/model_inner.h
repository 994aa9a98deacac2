/* What the files of the model share. */
#ifndef ELAPSE_TESTS_MODEL_INNER_H
#define ELAPSE_TESTS_MODEL_INNER_H

#include "model.h"

enum { MODEL_DRAWN_MAX = 256 };

/* The due time was drawn at random: it lies between these. */
struct model_drawn {
    uint64_t id;
    int64_t least, most;
};
extern struct model_drawn model_drawn[MODEL_DRAWN_MAX];
extern unsigned model_drawn_count;

/* The next command has the next number. The changes of a transaction share one. */
void model_next(void);

/* The present command changes a job: returns its new version. */
struct model_job *model_change(struct model_job *job);

/* Judge a token: returns whether it was known; and keep one, with the job that has it. */
bool model_judge_token(unsigned token, model_answer answer);
void model_add_token(unsigned token, uint64_t id);
bool model_expect(const char *verb, uint64_t id, model_answer answer,
                  enum elapse__queue_result expected);

struct model_history *model_history_of(uint64_t id);
bool model_is_live(const struct model_job *job);
bool model_recurs(const struct model_job *job);
struct model_job *model_find_key(unsigned tube, unsigned key, bool shadow);
void model_enter_waiting(struct model_job *job, bool by_wall, int64_t due);
void model_put_aside(uint64_t id, int64_t due);
bool model_is_paused(unsigned tube);

/* Returns whether a pause with so much left is the one behind a cut. */
bool model_pause_fits(unsigned tube, uint64_t cut, int64_t left);

/* Takes over a pause with so much left after a start. Every cut from `lowest` to `most` may be the
 * true one. */
void model_adopt_pause(unsigned tube, uint64_t lowest, uint64_t most, int64_t left);

/* Returns whether a worker has the job, cancelled or not. */
bool model_runs(const struct model_job *job);

/* ---- limits ---- */

/* Whether limits let a job run; MAY: the model does not know. */
enum model_verdict { MODEL_MUST_NOT, MODEL_MAY, MODEL_MUST };

void model_limits_begin(void);
bool model_has_limits(unsigned tube);

/* Returns whether a limit counts the jobs of the tube that run. */
bool model_keeps_places(unsigned tube);

/* Return whether the limits of a tube, and those of a group of it, let one more job run. */
enum model_verdict model_tube_lets_run(unsigned tube);
enum model_verdict model_group_lets_run(unsigned tube, unsigned group);

/* Says which limit forbids that the job runs, if one does. */
void model_judge_limits(uint64_t id);

/* A job was handed out by the present command. */
void model_note_hand_out(const struct model_put *put);
void model_compare_limits(const struct elapse__queue *queue);

/* Returns whether all tubes have the limits of a cut; and takes them over. Hand-outs of commands
 * up to `least` are known to be on the disk. */
bool model_limits_fit(const struct elapse__queue *queue, uint64_t cut);
void model_adopt_limits(uint64_t least, uint64_t cut);

/* Returns the job that must be handed out of these tubes (a bit each), or NULL: the job `id` if it
 * may be. */
struct model_job *model_first_ready(unsigned tubes, uint64_t id);
const char *model_name_of(enum elapse__queue_result result);

#endif
