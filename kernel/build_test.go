package kernel

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// emptyCache gives the test a cache folder of its own and returns where kernels
// go in it.
func emptyCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "wiretime", "kernel")
}

// checkLeft checks that a build that failed has left nothing.
func checkLeft(t *testing.T, root string) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" {
			t.Errorf("the build has left %s", e.Name())
		}
	}
}

// archive writes a tarball with the given files.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "linux.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(file)
	w := tar.NewWriter(zipped)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: "linux/" + name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

const makefile73 = "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n"

// TestSourcesThatWillNotDo gives Build unsuitable sources.
func TestSourcesThatWillNotDo(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		sha256 string
		reason error
		says   []string
	}{
		{"no Linux", map[string]string{"README": "hello"}, "", ErrNoSource, []string{"linux.tar.gz is not Linux", "Makefile"}},
		{"a Makefile of something else", map[string]string{"Makefile": "all:\n"}, "", ErrNoSource, []string{"no VERSION"}},
		{"an old Linux", map[string]string{"Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n"}, "", ErrTooOld, []string{"Linux 6.12.1", "7.2 or newer"}},
		{"another file than wanted", map[string]string{"Makefile": makefile73}, strings.Repeat("0", 64), ErrChecksum, []string{"linux.tar.gz", "SHA-256", "--sha256"}},
		{"a file that our patches do not know", map[string]string{"Makefile": makefile73}, "",
			ErrPatch, []string{"0001-deterministic-random.patch", "Linux 7.3.4", "no file arch/um/os-Linux/util.c"}},
		{"a file that has changed", map[string]string{"Makefile": makefile73, "arch/um/os-Linux/util.c": strings.Repeat("int other;\n", 200)}, "",
			ErrPatch, []string{"0001-deterministic-random.patch", "Linux 7.3.4", "arch/um/os-Linux/util.c: Hunk #1 FAILED"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := emptyCache(t)
			_, err := Build(t.Context(), BuildOptions{Source: archive(t, test.files), SHA256: test.sha256})
			if !errors.Is(err, test.reason) {
				t.Errorf("%v is no %v", err, test.reason)
			}
			for _, word := range test.says {
				if err != nil && !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
			checkLeft(t, root)
		})
	}
	t.Run("no file", func(t *testing.T) {
		emptyCache(t)
		if _, err := Build(t.Context(), BuildOptions{Source: "/nonexistent.tar.xz"}); !errors.Is(err, ErrNoSource) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v is no %v", err, ErrNoSource)
		}
	})
}

func TestNoCompiler(t *testing.T) {
	emptyCache(t)
	path := t.TempDir()
	for _, tool := range tools {
		if tool.program == "gcc" || tool.program == "flex" {
			continue
		}
		found, err := exec.LookPath(tool.program)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(found, filepath.Join(path, tool.program)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
	_, err := Build(t.Context(), BuildOptions{})
	if !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "gcc, flex") || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("%v does not say that gcc and flex are missing and how to install them", err)
	}
}

// TestNoSourceWithinReach configures apt, as any user may, without a mirror, and with one
// that does not answer.
func TestNoSourceWithinReach(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("this machine has no apt")
	}
	for _, test := range []struct{ name, sources, says string }{
		{"no mirror", "", "not configured for a Debian mirror"},
		{"a mirror that does not answer", "Types: deb\nURIs: http://127.0.0.1:1/debian\nSuites: trixie\nComponents: main\n", "fetch the lists of trixie-backports"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := emptyCache(t)
			dir := t.TempDir()
			for name, content := range map[string]string{
				"apt.conf":             `Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "` + dir + `/sources"; Dir::State::lists "` + dir + `/lists";` + "\n",
				"sources/test.sources": test.sources, "lists/partial/none": "",
			} {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("APT_CONFIG", filepath.Join(dir, "apt.conf"))
			_, err := Build(t.Context(), BuildOptions{})
			if !errors.Is(err, ErrNoSource) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "--source") {
				t.Errorf("%v does not say %q and to give --source", err, test.says)
			}
			checkLeft(t, root)
		})
	}
	t.Run("no apt", func(t *testing.T) {
		emptyCache(t)
		path := t.TempDir()
		for _, tool := range tools {
			if found, err := exec.LookPath(tool.program); err == nil {
				_ = os.Symlink(found, filepath.Join(path, tool.program))
			}
		}
		t.Setenv("PATH", path)
		if _, err := Build(t.Context(), BuildOptions{}); !errors.Is(err, ErrNoSource) || !strings.Contains(err.Error(), "--source") {
			t.Errorf("%v does not say to give --source", err)
		}
	})
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	root := emptyCache(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Build(ctx, BuildOptions{Source: archive(t, map[string]string{"Makefile": makefile73}), Progress: func(Step) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no %v", err, context.Canceled)
	}
	checkLeft(t, root)
}

func TestBuildersWaitForEachOther(t *testing.T) {
	root := emptyCache(t)
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := os.Create(filepath.Join(root, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var steps []string
	_, err = Build(t.Context(), BuildOptions{Source: archive(t, map[string]string{"README": ""}), Progress: func(s Step) {
		if steps = append(steps, s.Name); strings.HasPrefix(s.Name, "waiting") {
			_ = other.Close()
		}
	}})
	if !errors.Is(err, ErrNoSource) || len(steps) != 2 || !strings.HasPrefix(steps[0], "waiting for another build") || !strings.HasPrefix(steps[1], "unpacking") {
		t.Errorf("steps %q and then %v", steps, err)
	}
}

// keep puts a kernel into the cache as a build does.
func keep(t *testing.T, root string, r Record) Kernel {
	t.Helper()
	work := filepath.Join(t.TempDir(), "build")
	if err := errors.Join(os.MkdirAll(work, 0o755), os.MkdirAll(root, 0o755)); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(work, "built")
	if err := os.WriteFile(built, []byte(r.Version), 0o755); err != nil {
		t.Fatal(err)
	}
	r.Size = int64(len(r.Version))
	k, err := publish(root, work, built, r)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestEqualInputsAreNotBuiltTwice(t *testing.T) {
	compiler, err := findTools(t.Context())
	if err != nil {
		t.Skip(err)
	}
	root := emptyCache(t)
	want := keep(t, root, Record{Version: "7.3.4", SourceSHA256: known[0].sha256, Compiler: compiler, Recipe: recipeHash()})
	got, err := Build(t.Context(), BuildOptions{Progress: func(s Step) { t.Errorf("the build started with %s", s.Name) }})
	if err != nil || got != want {
		t.Errorf("Build gave %v, %v; want %v", got, err, want)
	}
	if r, err := got.Record(); err != nil || r.Version != "7.3.4" || r.SourceSHA256 != known[0].sha256 {
		t.Errorf("its record is %+v, %v", r, err)
	}
}

func TestFind(t *testing.T) {
	root := emptyCache(t)
	if _, err := Find(); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("in an empty cache: %v, want %v", err, ErrNotBuilt)
	}
	age := func(k Kernel, age time.Duration) {
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(filepath.Dir(k.Path), recordFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	older := keep(t, root, Record{Version: "7.2.12", SourceSHA256: "a", Recipe: recipeHash()})
	age(older, 2*time.Hour)
	newer := keep(t, root, Record{Version: "7.3.4", SourceSHA256: "b", Recipe: recipeHash()})
	age(newer, time.Hour)
	foreign := keep(t, root, Record{Version: "7.4", SourceSHA256: "c", Recipe: "another program's"})
	_ = foreign
	damaged := keep(t, root, Record{Version: "7.5", SourceSHA256: "d", Recipe: recipeHash()})
	if err := os.Truncate(damaged.Path, 1); err != nil {
		t.Fatal(err)
	}
	if k, err := Find(); err != nil || k != newer {
		t.Errorf("Find gave %v, %v; want the last one that fits and is whole, %v", k, err, newer)
	}
	if _, ok := reuse(root, older.Hash); !ok {
		t.Fatal("the older kernel cannot be reused")
	}
	if k, err := Find(); err != nil || k != older {
		t.Errorf("Find gave %v, %v; want the one that was asked for last, %v", k, err, older)
	}
}

func TestChoose(t *testing.T) {
	pinned, second := known[0], known[1]
	for _, test := range []struct {
		name    string
		offered []debianSource
		want    debianSource
	}{
		{"the preferred one", []debianSource{second, {release: "7.10", version: "1"}, pinned}, pinned},
		{"a known one", []debianSource{second, {release: "7.10", version: "1"}}, second},
		{"a newer one of a known release", []debianSource{{release: "7.10", version: "1"}, {release: "7.2", version: "7.2.13-1"}, {release: "7.3", version: "7.3.6-1"}, {release: "7.3", version: "7.3.5-1"}},
			debianSource{release: "7.3", version: "7.3.6-1"}},
		{"the newest", []debianSource{{release: "7.9", version: "1"}, {release: "7.10", version: "2"}, {release: "7.4", version: "3"}}, debianSource{release: "7.10", version: "2"}},
		{"none", nil, debianSource{}},
	} {
		if got, ok := choose(test.offered); got.release != test.want.release || got.version != test.want.version || ok != (test.want.release != "") {
			t.Errorf("%s: %v, %v, want %v", test.name, got, ok, test.want)
		}
	}
}

func TestUnmetLines(t *testing.T) {
	fragment := "# words = here\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_C=y\nCONFIG_D=n\nCONFIG_E=\"x\"\nCONFIG_F=100\n"
	configuration := "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\nCONFIG_D=y\nCONFIG_E=\"x\"\n"
	if got, want := unmetLines(fragment, configuration), []string{"CONFIG_C=y", "CONFIG_D=n", "CONFIG_F=100"}; !slices.Equal(got, want) {
		t.Errorf("unmet are %q, want %q", got, want)
	}
}
