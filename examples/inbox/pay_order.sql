-- A payment, and the end of the time-out in the same transaction:
--
--      psql -v ON_ERROR_STOP=1 -v order=4711 -f pay_order.sql DATABASE
--
-- The order's row comes first: it is locked from then on, so that changes of one order come one
-- after another, and so do its calls of the inbox.
begin;
update orders set state = 'paid' where number = :order and state = 'open';
select elapse.cancel('unpaid', :'order');
commit;
