-- load.sql: the measured table, from the staged text.  It holds nothing but a
-- number and the stored vector, so that fetching rows, which every engine does
-- alike, weighs as little as it can.  `order` is id (the text's own order) or
-- md5 (neighbours scattered).
SET client_min_messages = error;		-- words too long to index
SET work_mem = '256MB';

CREATE TABLE docs AS
SELECT id, to_tsvector('simple', title || ' ' || body) AS tsv
FROM staged
ORDER BY CASE WHEN :'order' = 'md5' THEN md5(id::text) END COLLATE "C", id;
DROP TABLE staged;

VACUUM (FREEZE, ANALYZE) docs;
