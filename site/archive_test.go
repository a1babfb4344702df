package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// folded is minimal in the form of an archive of format 1.
var folded = strings.Replace(minimal, `"format": 2`, `"format": 1`, 1)

// saved saves threeOrigins as an archive and returns its folder.
func saved(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "three")
	must(t, threeOrigins(t).Save(dir))
	return dir
}

// copied copies an archive under the same name. It does not sync the copy to disk.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(from))
	must(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

// reopen opens an archive and closes it when the test ends.
func reopen(t *testing.T, dir string) *Site {
	t.Helper()
	s, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// contents returns a site's bodies by the URLs of its resources.
func contents(t *testing.T, s *Site) map[string]string {
	t.Helper()
	all := map[string]string{}
	for i := range s.Resources {
		body, err := s.Body(&s.Resources[i])
		must(t, err)
		all[s.Resources[i].URL] = string(body)
	}
	return all
}

func TestSavedSiteOpensAsItWas(t *testing.T) {
	s := threeOrigins(t)
	dir := filepath.Join(t.TempDir(), "new", "three")
	must(t, s.Save(dir))
	got := reopen(t, dir)
	if !reflect.DeepEqual(got.Resources, s.Resources) || got.Page != s.Page || !reflect.DeepEqual(contents(t, got), contents(t, s)) {
		t.Errorf("got %+v, want %+v", got, s)
	}
	if problems := got.Problems(); len(problems) > 0 && strings.Contains(problems[0], "slowly") {
		t.Errorf("%q", problems)
	}
	must(t, got.Verify(t.Context()))
	if err := s.Save(dir); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("saving over it: %v", err)
	}
	if _, err := s.Body(&Resource{Body: emptyHash[1:] + "0"}); err == nil {
		t.Error("a foreign resource has a body")
	}
	again := filepath.Join(t.TempDir(), "again")
	must(t, got.Save(again))
	for _, name := range []string{manifestFile, packFile, indexFile} {
		if !bytes.Equal(content(t, filepath.Join(dir, name)), content(t, filepath.Join(again, name))) {
			t.Errorf("%s differs when what was opened is saved", name)
		}
	}
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	must(t, err)
	return data
}

func TestSaveRefusesABodyOfAnotherName(t *testing.T) {
	s := threeOrigins(t)
	s.bodies[s.Resources[0].Body] = []byte("2")
	dir := filepath.Join(t.TempDir(), "three")
	if err := s.Save(dir); err == nil || !strings.Contains(err.Error(), "does not match its SHA-256") {
		t.Errorf("error is %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left", left, err)
	}
}

func TestCloseUnmapsTheBodies(t *testing.T) {
	s, err := Open(saved(t))
	must(t, err)
	clear, err := s.Over("http")
	must(t, err)
	must(t, clear.Close()) // owns no mapping
	must(t, s.Verify(t.Context()))
	must(t, s.Close())
	if _, err := s.Body(&s.Resources[0]); err == nil {
		t.Error("a closed site has bodies")
	}
	if a := s.Respond("GET", "www.three.test", "/a%20page"); a.Resource != nil {
		t.Errorf("a closed site answers %+v", a)
	}
	must(t, s.Close())
	must(t, threeOrigins(t).Close())
}

func TestOpenRefusesADamagedArchive(t *testing.T) {
	replace := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, manifestFile)
			text := content(t, file)
			changed := bytes.Replace(text, []byte(old), []byte(new), 1)
			if bytes.Equal(text, changed) {
				t.Fatalf("%q is not in %s", old, text)
			}
			must(t, os.WriteFile(file, changed, 0o644))
		}
	}
	const one = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" // the body "1"
	good := saved(t)
	pack := func(change func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { change(t, filepath.Join(dir, packFile)) }
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"no site.json", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, manifestFile))) }, "not a site archive"},
		{"a site.json that is a pipe", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, manifestFile)))
			must(t, syscall.Mkfifo(filepath.Join(dir, manifestFile), 0o644))
		}, "not a regular file"},
		{"half a site.json", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, manifestFile), 100)) }, "unexpected end"},
		{"a body that is not there", replace(one, strings.Repeat("0", 64)), "x.js?v=1: site three has no body"},
		{"a body of another length", replace(`"size": 1`, `"size": 2`), "x.js?v=1: 1 octets, but site.json says 2: add the site again"},
		{"a body by a path", replace(one, "../../etc/passwd"), "not a SHA-256"},
		{"no bodies", pack(func(t *testing.T, file string) { must(t, os.Remove(file)) }), "bodies: statat bodies: no such file or directory: add the site again"},
		{"empty bodies", pack(func(t *testing.T, file string) { must(t, os.WriteFile(file, nil, 0o644)) }), "bodies: it is empty"},
		{"bodies that are a folder", pack(func(t *testing.T, file string) {
			must(t, os.Remove(file))
			must(t, os.Mkdir(file, 0o755))
		}), "bodies is not a regular file"},
		{"bodies that are a pipe", pack(func(t *testing.T, file string) {
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o644))
		}), "bodies is not a regular file"},
		{"bodies that are a link out of the archive", pack(func(t *testing.T, file string) {
			outside := filepath.Join(t.TempDir(), "bodies")
			must(t, os.Rename(file, outside))
			must(t, os.Symlink(outside, file))
		}), "escapes"},
		{"bodies of something else", pack(func(t *testing.T, file string) { must(t, os.WriteFile(file, []byte("PK"), 0o644)) }), "not a file of bodies"},
		{"bodies cut short within a body", pack(func(t *testing.T, file string) { must(t, os.Truncate(file, packHead+packEntry)) }), "bodies is damaged: it ends within the body " + one + ", which has 1 octets from octet 64 on: add the site again"},
		{"bodies cut short before a body", pack(func(t *testing.T, file string) { must(t, os.Truncate(file, packHead+1)) }), "it ends within the entry of a body, at octet 24"},
		{"bodies that lack some", pack(func(t *testing.T, file string) { must(t, os.Truncate(file, packHead+packEntry+packAlign)) }), "a%20page: site three has no body"},
		{"bodies with something after them", pack(func(t *testing.T, file string) {
			must(t, os.WriteFile(file, append(content(t, file), "garbage"...), 0o644))
		}), "it ends within the entry of a body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copied(t, good)
			c.damage(t, dir)
			if s, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
				t.Errorf("got %v, error is %v, want one with %q", s, err, c.want)
			}
		})
	}
}

func TestVerifyNamesTheDamagedResource(t *testing.T) {
	dir := saved(t)
	file := filepath.Join(dir, packFile)
	data := content(t, file)
	at := bytes.Index(data, []byte("page"))
	data[at] ^= 1
	must(t, os.WriteFile(file, data, 0o644))
	s := reopen(t, dir) // reads no bodies
	err := s.Verify(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the body of https://www.three.test/a%20page: does not match its SHA-256") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := s.Verify(ctx); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestVerifyOfAFileThatWasCutShort checks that Verify survives missing pages of a mapped
// file, which kill a program that does not expect them.
func TestVerifyOfAFileThatWasCutShort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "large")
	large, err := Objects(1, 100_000)
	must(t, err)
	must(t, large.Save(dir))
	s := reopen(t, dir)
	must(t, s.Verify(t.Context()))
	must(t, os.Truncate(filepath.Join(dir, packFile), 8192))
	if err := s.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "/objects/1.svg: cannot be read") {
		t.Errorf("error is %v", err)
	}
}

// TestOpenReadsNoBodies opens a sparse file of bodies: had Open read the bodies, their
// pages would be in memory.
func TestOpenReadsNoBodies(t *testing.T) {
	const count, size = 10_000, 3 * 4096
	dir := t.TempDir()
	s := &Site{Name: "large", Page: "https://www.large.test/0"}
	f, err := os.Create(filepath.Join(dir, packFile))
	must(t, err)
	head := append([]byte(packMagic), make([]byte, packHead-len(packMagic))...)
	_, err = f.Write(head)
	must(t, err)
	x := index{site: s, packSize: packHead}
	for i := range count {
		hash := Hash([]byte{byte(i), byte(i >> 8)})
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		_, err := f.WriteAt(append(sum[:], 0, size>>8, 0, 0, 0, 0, 0, 0), x.packSize)
		must(t, err)
		x.spans = append(x.spans, span{hash, x.packSize + packEntry, size})
		x.packSize += packEntry + size
		s.Resources = append(s.Resources, Resource{Method: "GET", URL: "https://www.large.test/" + strconv.Itoa(i), Status: 200, Body: hash, Size: size})
	}
	must(t, f.Truncate(x.packSize))
	must(t, f.Close())
	manifest, err := s.encode()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, manifestFile), manifest, 0o644))
	data, err := encodeIndex(manifest, x)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, indexFile), data, 0o644))

	root, err := os.OpenRoot(dir)
	must(t, err)
	pack, err := mapPack(root)
	must(t, err)
	before := resident(t, pack)
	indexed := reopen(t, dir)
	if indexed.slow != nil || len(indexed.Resources) != count {
		t.Fatalf("%d resources: %v", len(indexed.Resources), indexed.slow)
	}
	if after := resident(t, pack); after > before {
		t.Errorf("%d pages of bodies in memory, %d before", after, before)
	}
	if indexed.Verify(t.Context()) == nil {
		t.Error("the holes match the SHA-256 of the bodies")
	}
	for i := range indexed.Resources {
		body, err := indexed.Body(&indexed.Resources[i])
		must(t, err)
		_ = Hash(body)
	}
	if after := resident(t, pack); after < before+count {
		t.Errorf("%d pages are in memory after all bodies were read, and %d before: the test cannot tell the difference", after, before)
	}
}

// resident counts the pages of a mapped file that are in memory.
func resident(t *testing.T, mapped []byte) int {
	t.Helper()
	pages := make([]byte, (len(mapped)+4095)/4096)
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
	if failed != 0 {
		t.Fatal(failed)
	}
	count := 0
	for _, p := range pages {
		count += int(p & 1)
	}
	return count
}

func TestOpenRefusesADamagedArchiveOfFormat1(t *testing.T) {
	page := "bodies/" + emptyHash
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"no site.json", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "site.json"))) }, "not a site archive"},
		{"a missing body", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, page))) }, "add the site again"},
		{"a longer body", func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, page), []byte("x"), 0o644)) }, "does not have the 0 octets"},
		{"another body of the same size", func(t *testing.T, dir string) {
			text := strings.Replace(folded, `"size": 0`, `"size": 1`, 1)
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(text), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, page), []byte("x"), 0o644))
		}, "SHA-256 does not match"},
		{"two sizes of one body", func(t *testing.T, dir string) {
			text := strings.Replace(folded, "  ]\n", `,{"method":"GET","url":"https://a.test/","status":200,"body":"`+emptyHash+`","size":7}]`, 1)
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(text), 0o644))
		}, "0 octets, but site.json says 7"},
		{"a body that is a link out of the archive", func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, page)))
			must(t, os.Symlink(os.DevNull, filepath.Join(dir, page)))
		}, "escapes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "site.json"), []byte(folded), 0o644))
			must(t, os.Mkdir(filepath.Join(dir, "bodies"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, page), nil, 0o644))
			if _, err := Open(dir); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir)
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one with %q", err, c.want)
			}
		})
	}
}
