"""The tables of the index of runs, and the two questions that are long.

run     one tag                    did     which executions are part of a run's answer
made    one time that a stage ran  used    what it read of earlier stages; gave: what it made
place   a path and a hash          source  what stood there before; many executions share a set
member  a file within a folder     content the SHA-256 of files, as far as somebody asked
"""

VERSION = 2

TABLES = """
CREATE TABLE run (n INTEGER PRIMARY KEY, id TEXT UNIQUE, tag TEXT);
CREATE TABLE place (n INTEGER PRIMARY KEY, path TEXT, hash TEXT, UNIQUE (hash, path));
CREATE TABLE sources (n INTEGER PRIMARY KEY, key TEXT UNIQUE);
CREATE TABLE source (sources INTEGER, place INTEGER);
CREATE TABLE made (n INTEGER PRIMARY KEY, key TEXT UNIQUE, "case" TEXT, stage TEXT, ran_in TEXT,
                   folder TEXT, sources INTEGER, marks TEXT);
CREATE TABLE did (run INTEGER, made INTEGER, PRIMARY KEY (run, made)) WITHOUT ROWID;
CREATE TABLE used (made INTEGER, place INTEGER);
CREATE TABLE gave (made INTEGER, place INTEGER);
CREATE TABLE member (folder INTEGER, name TEXT, hash TEXT);
CREATE TABLE listed (folder INTEGER PRIMARY KEY);
CREATE TABLE looked (at TEXT);
CREATE TABLE content (md5 TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
CREATE INDEX place_path ON place (path);
CREATE INDEX did_made ON did (made);
CREATE INDEX source_place ON source (place);
CREATE INDEX source_sources ON source (sources);
CREATE INDEX made_sources ON made (sources);
CREATE INDEX used_place ON used (place);
CREATE INDEX used_made ON used (made);
CREATE INDEX gave_place ON gave (place);
CREATE INDEX gave_made ON gave (made);
CREATE INDEX member_hash ON member (hash);
CREATE INDEX member_folder ON member (folder);
CREATE INDEX content_sha256 ON content (sha256);
"""
HERE = "(SELECT value FROM json_each(:places))"

READERS = f"""
SELECT made FROM used WHERE place IN {HERE} UNION
SELECT made.n FROM source CROSS JOIN made ON made.sources = source.sources
WHERE source.place IN {HERE}
"""  # noqa: S608 - made of constants; CROSS JOIN: in this order, not by way of every execution

HOLDING = """
SELECT n FROM place WHERE hash = :value AND path = :path UNION
SELECT place.n FROM member JOIN place ON place.n = member.folder
WHERE member.hash = :value AND place.path || '/' || member.name = :path
"""

PARTS = """
UNION SELECT part.n FROM place CROSS JOIN gave ON gave.place = place.n
CROSS JOIN gave AS other ON other.made = gave.made CROSS JOIN place AS part ON part.n = other.place
WHERE place.hash = :value AND place.path = :path
AND substr(part.path, 1, length(place.path) + 1) = place.path || '/'
"""

MAKERS = f"SELECT made FROM gave WHERE place IN {HERE}"  # noqa: S608

DOWN = f"""
WITH RECURSIVE down (made) AS (
  SELECT made FROM ({READERS}) UNION
  SELECT used.made FROM down CROSS JOIN gave ON gave.made = down.made
  CROSS JOIN used ON used.place = gave.place)
SELECT "case", stage, ran_in, folder, group_concat(run.id) FROM down
CROSS JOIN made ON made.n = down.made CROSS JOIN did ON did.made = made.n
CROSS JOIN run ON run.n = did.run GROUP BY made.n ORDER BY ran_in DESC, made.n
"""  # noqa: S608
