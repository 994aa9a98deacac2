// take_queue.c as somebody writes it in C++: the queue closes itself.
#include <elapse/queue.h>
#include <elapse/version.h>

#include <iostream>
#include <memory>
#include <string>

namespace {

struct Close {
    void operator()(elapse_queue *queue) const { (void)elapse_queue_close(queue); }
};

std::unique_ptr<elapse_queue, Close> open_queue()
{
    elapse_queue_options options;
    elapse_queue *queue = nullptr;
    elapse_queue_fault fault;

    elapse_queue_options_init(&options);
    options.segment_bytes = 1 << 20;
    if (elapse_queue_open("take-queue-cxx.data", &options, &queue, &fault) != ELAPSE_OK)
        std::cout << fault.text << '\n';
    return std::unique_ptr<elapse_queue, Close>(queue);
}

bool works()
{
    const std::string body = "Ada";
    auto queue = open_queue();
    elapse_put put{};
    elapse_answer answer{};
    elapse_reserved job{};

    put.tube = "mails";
    put.body = body.data();
    put.body_bytes = body.size();
    if (!queue || elapse_queue_put(queue.get(), &put, &answer) != ELAPSE_OK ||
        elapse_queue_reserve(queue.get(), "mails", ELAPSE_QUEUE_FOREVER_MS, &job) != ELAPSE_OK)
        return false;
    const bool right = std::string(static_cast<const char *>(job.body), job.body_bytes) == body;
    const bool done = elapse_queue_ack(queue.get(), job.id, job.lease, nullptr) == ELAPSE_OK;
    elapse_reserved_free(&job);
    return right && done;
}

} // namespace

int main()
{
    if (!works())
        return 1;
    std::cout << elapse_version() << '\n';
}
