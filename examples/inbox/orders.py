#!/usr/bin/env python3
"""orders.py CONNECTION NUMBER: an order and its time-out in one transaction, with psycopg2.

CONNECTION is what libpq takes, such as "host=/run/postgresql dbname=shop". The table:

    create table orders (number bigint primary key, state text not null);
"""

import sys

import psycopg2


def place(connection, number):
    """The order and its time-out are there when this returns, or neither is when it raises."""
    with connection, connection.cursor() as cursor:
        cursor.execute("insert into orders values (%s, 'open')", (number,))
        cursor.execute("select elapse.put('unpaid', %s, delay => %s, key => %s)",
                       (str(number), "30 minutes", str(number)))


def pay(connection, number):
    """Returns whether the order was open. Its row is locked first, so that changes of one order come
    one after another, and so do its calls of the inbox."""
    with connection, connection.cursor() as cursor:
        cursor.execute("update orders set state = 'paid' where number = %s and state = 'open'",
                       (number,))
        if cursor.rowcount == 0:
            return False
        cursor.execute("select elapse.cancel('unpaid', %s)", (str(number),))
        return True


def expire(connection, number):
    """What a worker does with a job of `unpaid`, before it says ACK. The database decides: the
    time-out of an order that was paid at the last moment changes nothing."""
    with connection, connection.cursor() as cursor:
        cursor.execute("update orders set state = 'expired' where number = %s and state = 'open'",
                       (number,))
        return cursor.rowcount == 1


def main(conninfo, number):
    connection = psycopg2.connect(conninfo)
    place(connection, number)
    print("placed", number)
    try:
        place(connection, number)
    except psycopg2.errors.UniqueViolation:
        print("not placed twice, and no second time-out")
    print("paid" if pay(connection, number) else "not open")
    print("expired" if expire(connection, number) else "not open any more")
    connection.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
