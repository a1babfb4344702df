package campaign

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nkeys"

	"wiretime/campaign/broker"
	"wiretime/runner"
	"wiretime/store"
	"wiretime/study"
)

// entry is a file of a parcel as a test makes it.
type entry struct {
	name    string
	content []byte
	kind    byte // 0: a file
}

// parcelOf packs a parcel by hand.
func parcelOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Mode: 0o644}
		if e.kind != 0 {
			head.Typeflag, head.Size, head.Linkname = e.kind, 0, "/etc/passwd"
		}
		if err := archive.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if e.kind == 0 {
			if _, err := archive.Write(e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// foreign is what a hostile worker sends for the batch of load 0, whose honest attempts are given. It returns a whole parcel.
var foreign = map[string]func(t testing.TB, honest []attempt) []byte{
	"nothing":         func(testing.TB, []attempt) []byte { return nil },
	"no Zstandard":    func(testing.TB, []attempt) []byte { return []byte("what is this?") },
	"an empty parcel": func(t testing.TB, _ []attempt) []byte { return parcelOf(t) },
	"cut off": func(t testing.TB, honest []attempt) []byte {
		whole := packed(t, honest)
		return whole[:len(whole)/2]
	},
	"a path outside":      renamed("../../../../tmp/x"),
	"an absolute path":    renamed("/tmp/x"),
	"a folder":            renamed("a/b"),
	"a control character": renamed("a\x1b[2J"),
	"a compressed file":   renamed("load.har.zst"),
	"another file's name": func(t testing.TB, h []attempt) []byte {
		return parcelOf(t, described(t, h), entry{"r1-0000-a1/other", content(0, 1, 0), 0})
	},
	"a missing file":     func(t testing.TB, h []attempt) []byte { return parcelOf(t, described(t, h)) },
	"an additional file": func(t testing.TB, h []attempt) []byte { return parcelOf(t, append(files(t, h), entry{"x", nil, 0})...) },
	"a link": func(t testing.TB, h []attempt) []byte {
		return parcelOf(t, described(t, h), entry{"r1-0000-a1/load.har", nil, tar.TypeSymlink})
	},
	"other content":       changed(func(a *attempt) { a.Files[0].SHA256 = strings.Repeat("0", 64) }),
	"no checksum":         changed(func(a *attempt) { a.Files[0].SHA256 = "" }),
	"another size":        changed(func(a *attempt) { a.Files[0].Octets++ }),
	"a negative size":     changed(func(a *attempt) { a.Files[0].Octets = -1 }),
	"a size that unfolds": changed(func(a *attempt) { a.Files[0].Octets = math.MaxInt64 }),
	"a name twice": func(t testing.TB, h []attempt) []byte {
		h[0].Files = append(h[0].Files, h[0].Files[0])
		return parcelOf(t, files(t, h)...)
	},
	"a load of another":      changed(func(a *attempt) { a.Index = 70 }),
	"a second attempt first": changed(func(a *attempt) { a.Attempt = 2 }),
	"a negative attempt":     changed(func(a *attempt) { a.Attempt = -1 }),
	"no such verdict":        changed(func(a *attempt) { a.Validity = "splendid" }),
	"a last attempt early":   changed(func(a *attempt) { a.Final = true }),
	"no reason":              changed(func(a *attempt) { a.Reason = "" }),
	"a long reason":          changed(func(a *attempt) { a.Reason = strings.Repeat("x", longestText+1) }),
	"an unknown metric":      changed(func(a *attempt) { a.Values["beauty"] = 1 }),
	"rule 99":                changed(func(a *attempt) { a.Violations = []study.Violation{{Rule: 99, Detail: "x"}} }),
	"pages without end":      changed(func(a *attempt) { a.Pages = make([]study.Page, mostEntries+1) }),
	"NaN": func(t testing.TB, h []attempt) []byte {
		return parcelOf(t, entry{attemptsFile, []byte(`[{"Index":0,"Attempt":1,"Validity":"valid","Values":{"plt":NaN}}]`), 0})
	},
	"1e999": func(t testing.TB, h []attempt) []byte {
		return parcelOf(t, entry{attemptsFile, []byte(`[{"Index":0,"Attempt":1,"Validity":"valid","Values":{"plt":1e999}}]`), 0})
	},
	"attempts without end": func(t testing.TB, h []attempt) []byte {
		return parcelOf(t, entry{attemptsFile, []byte("[" + strings.Repeat("{},", 1_000_000) + "{}]"), 0})
	},
	"attempts out of order": func(t testing.TB, h []attempt) []byte { h[0], h[1] = h[1], h[0]; return parcelOf(t, files(t, h)...) },
	"half of the attempts":  func(t testing.TB, h []attempt) []byte { return parcelOf(t, files(t, h[:len(h)/2])...) },
	"an attempt twice":      func(t testing.TB, h []attempt) []byte { return parcelOf(t, files(t, append(h, h[len(h)-1]))...) },
}

func described(t testing.TB, all []attempt) entry {
	t.Helper()
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return entry{attemptsFile, text, 0}
}

func files(t testing.TB, all []attempt) []entry {
	t.Helper()
	entries := []entry{described(t, all)}
	for _, a := range all {
		for _, f := range a.Files {
			entries = append(entries, entry{fmt.Sprintf("r1-%04d-a%d/%s", a.Index, a.Attempt, f.Name), content(a.Index, a.Attempt, 0), 0})
		}
	}
	return entries
}

func packed(t testing.TB, all []attempt) []byte { t.Helper(); return parcelOf(t, files(t, all)...) }

// changed is a parcel whose first attempt, one that is not valid, is changed.
func changed(change func(*attempt)) func(testing.TB, []attempt) []byte {
	return func(t testing.TB, honest []attempt) []byte {
		t.Helper()
		change(&honest[0])
		return packed(t, honest)
	}
}

func renamed(name string) func(testing.TB, []attempt) []byte {
	return changed(func(a *attempt) { a.Files[0].Name = name })
}

// honest returns the attempts of an honest worker at the first batch.
func honest(t testing.TB) (runner.Batch, []attempt) {
	t.Helper()
	b := runner.Batch{}
	for index := range inBatch {
		b.Loads = append(b.Loads, runner.BatchLoad{Index: index, Cell: index % 2, Repeat: index / 2, Seed: uint64(index)})
	}
	records, err := maker{}.Do(t.Context(), 0, b, t.TempDir(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	return b, attemptsOf(records)
}

// TestForeignParcels: no parcel that a hostile worker may send is kept, ends the campaign or writes anything elsewhere. The
// batch is carried out again, and the store is the one that honest workers make.
func TestForeignParcels(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.setup()
	ended := f.conducting(nil)
	names := make([]string, 0, len(foreign))
	for name := range foreign {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		hostile := f.raw(fmt.Sprint("hostile", i), study.PlaceAny)
		_, attempts := honest(t)
		parcel := foreign[name](t, attempts)
		digest, err := broker.PutArtefact(f.ctx, hostile.js, bytes.NewReader(parcel))
		if err != nil {
			t.Fatal(name, ": ", err)
		}
		f.send(hostile.service, "0", result{ID: hostile.plan.ID, Parcel: digest, Octets: max(1, int64(len(parcel)))})
		f.heard(fmt.Sprintf("a result of worker hostile%d was refused", i))
	}
	select {
	case err := <-ended:
		t.Fatalf("the campaign ended: %v", err)
	default:
	}
	f.work(f.worker("a", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	f.whole(0)
}

// send publishes a result as a worker.
func (f *fixture) send(s *service, batch string, r any) {
	f.t.Helper()
	text, isText := r.(string)
	if !isText {
		encoded, err := json.Marshal(r)
		if err != nil {
			f.t.Fatal(err)
		}
		text = string(encoded)
	}
	if _, err := s.js.Publish(f.ctx, broker.ResultSubject("c", s.Name, batch), []byte(text)); err != nil {
		f.t.Fatal(err)
	}
}

// TestForeignResults: messages that are no results of the campaign are dropped, and blame nobody. A worker that sends what cannot be
// right is quarantined at the third time.
func TestForeignResults(t *testing.T) {
	t.Parallel()
	f := plannedCampaign(t)
	f.setup()
	var last Progress
	ended := f.conducting(func(c *Config) { c.Report = func(p Progress) { last = p } })
	hostile := f.raw("hostile", study.PlaceAny)
	id, digest := hostile.plan.ID, strings.Repeat("ab", 32)
	for i, c := range []struct {
		batch  string
		result any
	}{
		{"1", result{ID: id, Parcel: digest, Octets: 1}}, // no batch begins with load 1
		{"99999", result{ID: id, Parcel: digest, Octets: 1}},
		{"0c", result{ID: id, Parcel: digest, Octets: 1}},
		{"-4", result{ID: id, Parcel: digest, Octets: 1}},
		{"0x0", result{ID: id, Parcel: digest, Octets: 1}},
		{"0", result{ID: "another run", Parcel: digest, Octets: 1}},
		{"0", result{ID: id}},
		{"0", result{ID: id, Parcel: "../x", Octets: 1}},
		{"0", result{ID: id, Parcel: strings.Repeat("x", 100_000), Octets: 1}},
		{"0", result{ID: id, Parcel: digest, Octets: -1}},
		{"0", result{ID: id, Failed: strings.Repeat("x", longestFailure+1)}},
		{"0", ""},
		{"0", "{"},
		{"0", `{"ID":1}`},
		{"0", "[" + strings.Repeat("[", 10_000)},
	} {
		f.send(hostile.service, c.batch, c.result)
		f.await(fmt.Sprint("a message is not dropped: ", i), func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return strings.Count(strings.Join(f.said, "\n"), "was dropped") == i+1
		})
	}
	f.send(hostile.service, "0", result{ID: id, Parcel: digest, Octets: 1})
	f.heard("there is no parcel") // which need not be its fault
	junk, err := broker.PutArtefact(f.ctx, hostile.js, strings.NewReader("junk"))
	if err != nil {
		t.Fatal(err)
	}
	for range maxStrikes {
		f.send(hostile.service, "0", result{ID: id, Parcel: junk, Octets: 4})
	}
	f.heard("worker hostile is quarantined: 3 of its results in a row could not be right")
	f.work(f.worker("a", maker{}))
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(last.Quarantined, []string{"hostile"}) {
		t.Errorf("quarantined are %q", last.Quarantined)
	}
	f.whole(0)
}

// FuzzParcel: whatever a parcel holds, it is taken as it was packed or refused, and nothing is written outside its folders.
func FuzzParcel(f *testing.F) {
	for _, make := range foreign {
		_, attempts := honest(f)
		f.Add(make(f, attempts))
	}
	b, attempts := honest(f)
	f.Add(packed(f, attempts))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := openParcel(bytes.NewReader(text))
		if err != nil {
			return
		}
		defer p.close()
		got, err := p.attempts(mostAttempts(b, retries))
		if err == nil {
			err = check(b, retries, got)
		}
		if err == nil {
			err = checkOctets(got, int64(len(text)))
		}
		if err != nil {
			if !errors.Is(err, ErrWrong) {
				t.Errorf("the worker is not blamed for %v", err)
			}
			return
		}
		dir := t.TempDir()
		var ids []string
		for _, a := range got {
			ids = append(ids, store.LoadRecord{Planned: store.Planned{Run: 1, Index: a.Index}, Attempt: a.Attempt}.ID())
		}
		err = p.unpack(got, ids, func(load string) (string, error) {
			folder := filepath.Join(dir, "loads", load)
			return folder, os.MkdirAll(folder, 0o755)
		})
		if err != nil && !errors.Is(err, ErrWrong) {
			t.Errorf("the worker is not blamed for %v", err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			t.Errorf("%v were written outside", entries)
		}
	})
}

// FuzzResult: a result names a parcel by its SHA-256, or a short failure.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"ID":"x","Parcel":"` + strings.Repeat("ab", 32) + `","Octets":1}`))
	f.Add([]byte(`{"ID":"x","Failed":"five workers died of it"}`))
	f.Add([]byte(`{"Failed":null,"Parcel":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseResult(text)
		if err == nil && r.Failed == "" && (!isDigest(r.Parcel) || r.Octets <= 0) || len(r.Failed) > longestFailure {
			t.Errorf("%+v is taken", r)
		}
	})
}

// FuzzName: a name is that of one order only.
func FuzzName(f *testing.F) {
	for _, name := range []string{"0", "12c3", "c", "1c0", "01", "+1", "-1", "1c-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		first, number, err := parseName(name)
		if err == nil && (order{Copy: number, Batch: runner.Batch{Loads: []runner.BatchLoad{{Index: first}}}}).name() != name {
			t.Errorf("%q is taken for load %d, copy %d", name, first, number)
		}
	})
}

// FuzzSigned: no plan is believed but the one that the trusted key has signed, unchanged.
func FuzzSigned(f *testing.F) {
	key, err := nkeys.CreateUser()
	if err != nil {
		f.Fatal(err)
	}
	trusted, err := key.PublicKey()
	if err != nil {
		f.Fatal(err)
	}
	object, genuine, err := sign(Plan{Campaign: "c", ID: "x"}, time.Now().Add(time.Hour), key)
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(genuine)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, object)
	f.Add([]byte(`{}`), []byte{})
	f.Add(bytes.Replace(text, []byte(`"c"`), []byte(`"d"`), 1), object)
	f.Fuzz(func(t *testing.T, text, object []byte) {
		var s signed
		if json.Unmarshal(text, &s) != nil || s.check(trusted, time.Now()) != nil {
			return
		}
		if s.Campaign != genuine.Campaign || s.ID != genuine.ID || s.Object != genuine.Object || s.Until.After(genuine.Until) {
			t.Errorf("%+v is believed", s)
		}
		if p, err := s.read(object); err == nil && p.Campaign != "c" {
			t.Errorf("the plan %+v is believed", p)
		}
	})
}

// FuzzState: what a worker says of itself cannot control a terminal.
func FuzzState(f *testing.F) {
	for _, host := range []string{"host", "a\x1b[2Jb", "\u009b2J", "\u202egnp.exe", strings.Repeat("ä", 100), "\xff"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		plain := plainText(host)
		if strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) || len(plain) > 300 {
			t.Errorf("%q is shown as %q", host, plain)
		}
	})
}

// TestLostGuests: that a machine lost a guest is no difference between two workers.
func TestLostGuests(t *testing.T) {
	_, undisturbed := honest(t)
	want, err := digest(undisturbed)
	if err != nil {
		t.Fatal(err)
	}
	_, lost := honest(t)
	for i := range lost {
		if lost[i].Index == 1 {
			lost[i].Attempt++
		}
	}
	lost = append(lost, attempt{Index: 1, Attempt: 1, Validity: store.Failed, Reason: "the guest was killed"})
	if got, err := digest(lost); err != nil || got != want {
		t.Errorf("a lost guest changes the digest (%v)", err)
	}
	lost[0].Values["plt"]++
	if got, err := digest(lost); err != nil || got == want {
		t.Errorf("another value does not change the digest (%v)", err)
	}
}
