-- Every lease gets an epoch of its own, so that a write can be checked against the file alone.
CREATE SEQUENCE gjc_epochs;

CREATE TABLE gjc_files (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner    text COLLATE "C" NOT NULL,
  dir      text COLLATE "C" NOT NULL,                 -- path of the directory
  name     text COLLATE "C" NOT NULL,
  is_dir   boolean NOT NULL,
  size     bigint NOT NULL DEFAULT 0,                 -- bytes
  pieces   bigint NOT NULL DEFAULT 0,                 -- rows in gjc_data, and the seq of the next one
  fence    bigint NOT NULL DEFAULT 0,                 -- epoch of the last lease; only its holder may write
  nonce    text NOT NULL DEFAULT '',                  -- of the operation that gave the file its name
  modified timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (owner, dir, name)
) WITH (fillfactor = 70);

-- The content of a file is its data in the order of seq: a line each for a session, chunks for any other file.
CREATE TABLE gjc_data (
  file  bigint NOT NULL REFERENCES gjc_files ON DELETE CASCADE,
  seq   bigint NOT NULL,
  epoch bigint NOT NULL,                              -- of the writer's lease; 0 without one
  at    bigint NOT NULL,                              -- offset in the file
  data  bytea NOT NULL,
  PRIMARY KEY (file, seq)
);
CREATE UNIQUE INDEX gjc_data_at ON gjc_data (file, at);

CREATE TABLE gjc_leases (
  owner   text COLLATE "C" NOT NULL,
  dir     text COLLATE "C" NOT NULL,
  name    text COLLATE "C" NOT NULL,
  epoch   bigint NOT NULL,
  holder  text NOT NULL,
  server  text NOT NULL,                              -- the process that renews it
  host    text NOT NULL,
  pid     bigint NOT NULL,
  since   timestamptz NOT NULL,
  expires timestamptz NOT NULL,
  PRIMARY KEY (owner, dir, name)
);

-- The roles of users who are given a role of their own. Only the owner of the tables sees this one.
CREATE TABLE gjc_users (
  role     text COLLATE "C" PRIMARY KEY,
  password text NOT NULL
);

-- A role other than the owner of the tables has only the files whose owner it is.
ALTER TABLE gjc_files ENABLE ROW LEVEL SECURITY;
CREATE POLICY gjc_own ON gjc_files USING (owner = current_user) WITH CHECK (owner = current_user);
ALTER TABLE gjc_leases ENABLE ROW LEVEL SECURITY;
CREATE POLICY gjc_own ON gjc_leases USING (owner = current_user) WITH CHECK (owner = current_user);
ALTER TABLE gjc_data ENABLE ROW LEVEL SECURITY;
CREATE POLICY gjc_own ON gjc_data USING (EXISTS (SELECT FROM gjc_files f WHERE f.id = file AND f.owner = current_user));
