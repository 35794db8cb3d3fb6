-- The developer setting skipidx.fault: what it takes, and what it does.
--
-- Holds: fault 2, 4
LOAD 'skipidx';
SET client_min_messages = warning;
SET skipidx.fault = 'nowhere:kill';
SET skipidx.fault = 'insert_begin';
SET skipidx.fault = 'insert_begin:explode';
SET skipidx.fault = 'insert_begin:kill:0';
SET skipidx.fault = 'insert_begin:kill:1x';
SET skipidx.fault = 'root_written:wait';
SHOW skipidx.fault;
CREATE EXTENSION IF NOT EXISTS skipidx;
CREATE TABLE fault (v tsvector);
CREATE INDEX fault_v ON fault USING skipidx (v);
-- the second time, and once
SET skipidx.fault = 'insert_begin:error:2';
INSERT INTO fault VALUES ('first');
INSERT INTO fault VALUES ('second');
INSERT INTO fault VALUES ('third');
-- acts at the next statement's or row's check for interrupts
SET skipidx.fault = 'insert_begin:cancel';
INSERT INTO fault VALUES ('fourth'), ('fifth');
INSERT INTO fault VALUES ('sixth');
-- nobody has the lock
SET skipidx.fault = 'insert_appended:wait';
INSERT INTO fault VALUES ('seventh');
-- another point is not reached
SET skipidx.fault = 'publish_flipped:error';
INSERT INTO fault VALUES ('eighth');
RESET skipidx.fault;
SET enable_seqscan = off;
SELECT v FROM fault WHERE v @@ '!none' ORDER BY v;
SELECT count(*) FROM pg_settings WHERE name = 'skipidx.fault';
CREATE ROLE regress_fault;
SET ROLE regress_fault;
SET skipidx.fault = 'insert_begin:kill';
RESET ROLE;
DROP ROLE regress_fault;
DROP TABLE fault;
