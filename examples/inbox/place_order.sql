-- An order, and its time-out in the same transaction:
--
--      psql -v ON_ERROR_STOP=1 -v order=4711 -f place_order.sql DATABASE
--
-- The table:   create table orders (number bigint primary key, state text not null);
begin;
insert into orders values (:order, 'open');
select elapse.put('unpaid', :'order', delay => '30 minutes', key => :'order', retry => 5,
                  backoff_min => '1 s', backoff_max => '10 min');
commit;
