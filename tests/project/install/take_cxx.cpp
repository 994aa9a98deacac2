// take.c as somebody writes it in C++.
#include <elapse/scheduler.h>
#include <elapse/version.h>
#include <elapse/wheel.h>

#include <iostream>
#include <memory>
#include <string>

namespace {

struct Order {
    elapse_timer unpaid;
    int number;
};

bool wheel_fires()
{
    auto wheel = std::make_unique<elapse_wheel>();
    Order order{};

    if (elapse_wheel_init(wheel.get(), 0) != ELAPSE_OK)
        return false;
    elapse_timer_init(&order.unpaid);
    elapse_wheel_start(wheel.get(), &order.unpaid, elapse_deadline_after(0, 30));
    elapse_wheel_advance(wheel.get(), 30);
    return elapse_wheel_pop(wheel.get()) == &order.unpaid;
}

bool scheduler_runs()
{
    elapse_scheduler *scheduler = nullptr;
    int ran = 0;
    elapse_task task{};

    task.action = [](void *context, const elapse_run *) { ++*static_cast<int *>(context); };
    task.context = &ran;
    return elapse_scheduler_new(nullptr, &scheduler) == ELAPSE_OK &&
           elapse_scheduler_start(scheduler) == ELAPSE_OK &&
           elapse_task_schedule_at(scheduler, &task, 0, nullptr) == ELAPSE_OK &&
           elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, nullptr, nullptr) == ELAPSE_OK &&
           elapse_scheduler_free(scheduler) == ELAPSE_OK && ran == 1;
}

} // namespace

int main()
{
    if (elapse_version() != std::string(ELAPSE_VERSION_TEXT) || !wheel_fires() || !scheduler_runs())
        return 1;
    std::cout << elapse_version() << '\n';
}
