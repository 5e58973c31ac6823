package fleet

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gajae-code/gjc/sessions/postgres/postgrestest"
)

// watchLeases has the database record, in the transactions of the servers, each change of the holder of a lease, and each line of a session that
// was written by another than the holder of its lease.
const watchLeases = `
CREATE TABLE fleet_leases (
  number bigint GENERATED ALWAYS AS IDENTITY, name text, old_epoch bigint, old_pid bigint, old_since timestamptz, old_expires timestamptz,
  epoch bigint, holder text, since timestamptz);
CREATE TABLE fleet_strays (name text, epoch bigint, holds bigint);
CREATE FUNCTION fleet_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO fleet_leases (name, epoch, holder, since) VALUES (NEW.name, NEW.epoch, NEW.holder, NEW.since);
  ELSIF NEW.holder <> OLD.holder THEN
    INSERT INTO fleet_leases (name, old_epoch, old_pid, old_since, old_expires, epoch, holder, since)
      VALUES (NEW.name, OLD.epoch, OLD.pid, OLD.since, OLD.expires, NEW.epoch, NEW.holder, clock_timestamp()); -- NEW.since is from before it waited for a lock
  ELSIF NEW.epoch <> OLD.epoch THEN -- the same holder takes it again after a lost answer
    INSERT INTO fleet_leases (name, epoch, holder, since) VALUES (NEW.name, NEW.epoch, NEW.holder, NEW.since);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER fleet_lease AFTER INSERT OR UPDATE ON gjc_leases FOR EACH ROW EXECUTE FUNCTION fleet_lease();
CREATE FUNCTION fleet_line() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO fleet_strays SELECT f.name, NEW.epoch, l.epoch FROM gjc_files f LEFT JOIN gjc_leases l USING (owner, dir, name)
    WHERE f.id = NEW.file AND NEW.epoch <> 0 AND l.epoch IS DISTINCT FROM NEW.epoch;
  RETURN NULL;
END $$;
CREATE TRIGGER fleet_line AFTER INSERT ON gjc_data FOR EACH ROW EXECUTE FUNCTION fleet_line();`

// handOver is a takeover of a lease that has expired.
type handOver struct {
	session                 string // its ID
	pid                     int    // of the former holder
	since, expired, takenAt time.Time
}

// handOvers returns the takeovers, and checks that no two leases of a session overlap.
func handOvers(t *testing.T, address string) (all []handOver) {
	t.Helper()
	for _, row := range postgrestest.Rows(t, address, `SELECT name, old_pid, extract(epoch FROM old_expires), extract(epoch FROM since), old_expires > since, extract(epoch FROM old_since)
FROM fleet_leases WHERE old_epoch IS NOT NULL ORDER BY number`) {
		field := strings.Split(row, "|")
		if field[4] != "f" {
			t.Errorf("a lease was taken over before its end: %s", row)
		}
		all = append(all, handOver{session: sessionOf(field[0]), pid: int(number(t, field[1])), since: moment(t, field[5]), expired: moment(t, field[2]), takenAt: moment(t, field[3])})
	}
	return all
}

// sessionOf returns the ID of the session in a file of this name.
func sessionOf(name string) string {
	name = strings.TrimSuffix(name, ".jsonl")
	return name[strings.LastIndexByte(name, '_')+1:]
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	return time.UnixMicro(int64(number(t, text) * 1e6))
}

// checkWriters checks that one process at a time has written each session.
func checkWriters(t *testing.T, address string) {
	t.Helper()
	for what, query := range map[string]string{
		"a line was written without the lease": `SELECT name, epoch, holds FROM fleet_strays`,
		"an epoch falls along a session":       `SELECT name, seq, epoch, before FROM (SELECT file, seq, epoch, lag(epoch) OVER (PARTITION BY file ORDER BY seq) AS before FROM gjc_data) d JOIN gjc_files f ON f.id = d.file WHERE epoch < before`,
		"the lines of a session have a hole":   `SELECT name, seq FROM (SELECT file, seq, at, lag(at + length(data)) OVER (PARTITION BY file ORDER BY seq) AS before FROM gjc_data) d JOIN gjc_files f ON f.id = d.file WHERE at <> coalesce(before, 0)`,
		"an epoch has two holders":             `SELECT epoch FROM fleet_leases GROUP BY epoch HAVING count(DISTINCT (name, holder)) > 1`,
		"an epoch has no holder":               `SELECT DISTINCT epoch FROM gjc_data WHERE epoch <> 0 AND epoch NOT IN (SELECT epoch FROM fleet_leases)`,
	} {
		if rows := postgrestest.Rows(t, address, query); len(rows) > 0 {
			t.Errorf("%s: %q", what, rows[:min(len(rows), 10)])
		}
	}
}

// checkConnections waits until no server has a connection to the database.
func checkConnections(t *testing.T, address string) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) { // the backends of killed processes notice that by themselves
		rows := postgrestest.Rows(t, address, `SELECT pid, state, query FROM pg_stat_activity WHERE application_name = 'gjc' AND datname = current_database()`)
		if len(rows) == 0 {
			return
		}
		if time.Since(begin) > hang {
			t.Errorf("connections are left: %q", rows)
			return
		}
	}
}

// distribution describes durations.
func distribution(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100].Round(time.Millisecond) }
	return strconv.Itoa(len(all)) + ": median " + at(50).String() + ", 90 % " + at(90).String() + ", max " + at(100).String()
}
