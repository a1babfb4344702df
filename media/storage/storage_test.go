package storage

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestVideoIsAsThePaperHasIt checks the sizes against section 4.2 of Nam et al., 2021:
// pieces of 4 to 5 MB.
func TestVideoIsAsThePaperHasIt(t *testing.T) {
	v := Video("clip", 60)
	sum, before := int64(0), int64(0)
	for _, r := range Resolutions() {
		if v.Sizes[r] <= before {
			t.Errorf("a segment in %v has %d octets, in the resolution below %d", r, v.Sizes[r], before)
		}
		before = v.Sizes[r]
		sum += before
	}
	if mean := sum / 3; mean < 4_000_000 || mean > 5_000_000 {
		t.Errorf("the mean size is %d octets, want 4 to 5 MB", mean)
	}
}

func made(t *testing.T, seed uint64) *Made {
	t.Helper()
	m, err := Make(seed, Item{Name: "clip", Segments: 3, Sizes: map[Resolution]int64{HD: 200_000, FHD: 300_000}}, File("file", 1<<40), File("empty", 0))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t *testing.T, s Storage, id ID, offset int64, length int) []byte {
	t.Helper()
	p, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out := make([]byte, length)
	if n, err := p.ReadAt(out, offset); n != length || (err != nil && !errors.Is(err, io.EOF)) {
		t.Fatalf("read %v at %d: %d octets, %v", id, offset, n, err)
	}
	return out
}

func TestMadeContentIsTheSameHoweverItIsRead(t *testing.T) {
	m := made(t, 1)
	id := ID{"clip", FHD, 2}
	whole := read(t, m, id, 0, 300_000)
	for _, offset := range []int64{0, 1, blockSize - 1, blockSize, 2*blockSize + 5, 299_999} {
		for _, length := range []int{0, 1, 1000, blockSize, 3 * blockSize} {
			length = min(length, len(whole)-int(offset))
			if part := read(t, m, id, offset, length); !bytes.Equal(part, whole[offset:][:length]) {
				t.Errorf("%d octets at %d are not those of the whole", length, offset)
			}
		}
	}
	if !bytes.Equal(whole, read(t, made(t, 1), id, 0, len(whole))) {
		t.Error("two storages of one seed differ")
	}
	far := ID{Item: "file"}
	if err := m.Check(far, 1<<39, read(t, m, far, 1<<39, 1000)); err != nil {
		t.Errorf("in the middle of a terabyte: %v", err)
	}
}

func TestViewsAreWhatIsRead(t *testing.T) {
	m := made(t, 1)
	id := ID{"clip", FHD, 2}
	whole := read(t, m, id, 0, 300_000)
	p, err := m.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, 1, blockSize, 123_456} {
		for offset := from; offset < len(whole); {
			view := p.View(int64(offset))
			if len(view) == 0 || !bytes.HasPrefix(whole[offset:], view) {
				t.Fatalf("%d octets are in view at %d, which are not those of the whole", len(view), offset)
			}
			offset += len(view)
		}
	}
	for _, offset := range []int64{-1, 300_000, 1 << 40} {
		if view := p.View(offset); len(view) != 0 {
			t.Errorf("%d octets are in view at %d", len(view), offset)
		}
	}
	f, err := OpenFolder(someFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := f.Open(ID{Item: "file"})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if view := file.View(0); len(view) != 0 {
		t.Errorf("%d octets of a file are in view", len(view))
	}
}

func TestMadeContentEnds(t *testing.T) {
	p, err := made(t, 1).Open(ID{"clip", HD, 0})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.ReadAt(make([]byte, 10), p.Size-4); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("4 octets before the end: %d octets, %v", n, err)
	}
	if n, err := p.ReadAt(make([]byte, 10), p.Size+4); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("past the end: %d octets, %v", n, err)
	}
	if _, err := p.ReadAt(make([]byte, 10), -1); err == nil {
		t.Error("before the beginning: no error")
	}
	if p, err := made(t, 1).Open(ID{Item: "empty"}); err != nil || p.Size != 0 || p.Segments != 1 {
		t.Errorf("an empty file: %+v, %v", p, err)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	m := made(t, 1)
	id := ID{"clip", FHD, 2}
	whole := read(t, m, id, 0, 300_000)
	if err := m.Check(id, 0, whole); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		id     ID
		offset int64
		octets []byte
		says   string
	}{
		{"one octet", id, 1000, func() []byte { b := bytes.Clone(whole[1000:]); b[100_000] ^= 1; return b }(), "octet 101000 is"},
		{"another place", id, 1000, whole[1001:], "octet 1000 is"},
		{"another block", id, 0, whole[blockSize:], "octet"},
		{"another segment", ID{"clip", FHD, 1}, 0, whole, "segment 1: octet"},
		{"another resolution", ID{"clip", HD, 2}, 0, whole[:200_000], "hd, segment 2: octet"},
		{"another item", ID{Item: "file"}, 0, whole, "file: octet"},
		{"too much", id, 1, whole, "received octets 1 to 300001 of 300000"},
		{"no such item", ID{Item: "films"}, 0, whole, "not in the storage"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := m.Check(test.id, test.offset, test.octets); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
	if made(t, 2).Check(id, 0, whole) == nil {
		t.Error("octets of another seed pass")
	}
}

func TestWhatAStorageLacks(t *testing.T) {
	folder, err := OpenFolder(someFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for name, s := range map[string]Storage{"made": made(t, 1), "folder": folder} {
		for _, test := range []struct {
			id       ID
			want     error
			segments uint32
		}{
			{ID{"films", HD, 0}, ErrNotFound, 0},
			{ID{"clip", QHD, 0}, ErrNotFound, 0},
			{ID{"clip", Plain, 0}, ErrNotFound, 0},
			{ID{"clip", HD, 3}, ErrPastEnd, 3},
			{ID{"file", Plain, 1}, ErrPastEnd, 1},
			{ID{"../file", Plain, 0}, ErrNotFound, 0},
		} {
			if p, err := s.Open(test.id); !errors.Is(err, test.want) || p.Segments != test.segments {
				t.Errorf("%s: %v: %d segments, %v; want %d, %v", name, test.id, p.Segments, err, test.segments, test.want)
			}
		}
	}
}

func TestAStorageOfAllThatHasAName(t *testing.T) {
	m := MakeAll(1)
	file := ID{Item: "file@3MB"}
	if p, err := m.Open(file); err != nil || p.Size != 3_000_000 || p.Segments != 1 {
		t.Errorf("%v: %d octets in %d segments, %v", file, p.Size, p.Segments, err)
	}
	if err := m.Check(file, 2_000_000, read(t, m, file, 2_000_000, 1000)); err != nil {
		t.Error(err)
	}
	if err := m.Check(ID{Item: "file@30MB"}, 2_000_000, read(t, m, file, 2_000_000, 1000)); err == nil {
		t.Error("files of different sizes are the same")
	}
	if p, err := m.Open(ID{"clip", QHD, ClipSegments - 1}); err != nil || p.Size != QHDSize || p.Segments != ClipSegments {
		t.Errorf("the clip's end: %d octets, %d segments, %v", p.Size, p.Segments, err)
	}
	if _, err := m.Open(ID{"clip", QHD, ClipSegments}); !errors.Is(err, ErrPastEnd) {
		t.Errorf("past the clip's end: %v", err)
	}
	if _, err := m.Open(ID{Item: "file@3XB"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestStoragesThatCannotBeMade(t *testing.T) {
	for says, items := range map[string][]Item{
		"no name":            {File("", 1)},
		"two items called":   {File("a", 1), Video("a", 1)},
		"a size of -1 octet": {File("a", -1)},
	} {
		if _, err := Make(1, items...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// someFiles lays out a folder like a made storage's items.
func someFiles(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"file": "plain", ".hidden": "no", "clip/hd/9.ts": "nine", "clip/hd/10.ts": "ten", "clip/hd/11.ts": "eleven", "clip/notes.txt": "no",
		"clip/fhd/0.ts": "one",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFolderHoldsItsFilesInOrder(t *testing.T) {
	f, err := OpenFolder(someFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if all, want := f.Items(), []ID{{"clip", HD, 0}, {"clip", FHD, 0}, {"file", Plain, 0}}; !slices.Equal(all, want) {
		t.Errorf("there are %v, want %v", all, want)
	}
	for id, want := range map[ID]string{
		{"file", Plain, 0}: "plain", {"clip", HD, 0}: "nine", {"clip", HD, 1}: "ten", {"clip", HD, 2}: "eleven", {"clip", FHD, 0}: "one",
	} {
		if got := read(t, f, id, 0, len(want)); string(got) != want {
			t.Errorf("%v is %q, want %q", id, got, want)
		}
	}
	if _, err := f.Open(ID{Item: ".hidden"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a hidden file: %v", err)
	}
}

func TestFoldersThatHoldNothing(t *testing.T) {
	if _, err := OpenFolder(t.TempDir()); err == nil || !strings.Contains(err.Error(), "neither files nor folders") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := OpenFolder(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestAFileThatLeadsOutOfTheFolderIsNotServed(t *testing.T) {
	dir, outside := someFiles(t), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Open(ID{Item: "file"}); err == nil {
		t.Errorf("a file outside was opened, of %d octets", p.Size)
	}
}

func TestEncodeWithoutFFmpeg(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Encode(t.Context(), t.TempDir(), "clip", "clip.mp4"); !errors.Is(err, ErrNoFFmpeg) {
		t.Errorf("%v, want %v", err, ErrNoFFmpeg)
	}
}

func TestEncodeMakesAnItem(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed")
	}
	dir := t.TempDir()
	if err := encode(t.Context(), dir, "clip", "-f", "lavfi", "-t", "3", "-i", "testsrc2=size=320x180:rate=4"); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, r := range Resolutions() {
		p, err := f.Open(ID{"clip", r, 2})
		if err != nil {
			t.Fatal(err)
		}
		if p.Segments != 3 || p.Size == 0 {
			t.Errorf("%v: %d segments, the last of %d octets; want 3", r, p.Segments, p.Size)
		}
		_ = p.Close()
	}
	if err := Encode(t.Context(), dir, "other", filepath.Join(dir, "absent.mp4")); err == nil || !strings.Contains(err.Error(), "absent.mp4") {
		t.Errorf("no clip: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a failed attempt leaves %v, %v", entries, err)
	}
}

// BenchmarkMake generates content and checks it, as both ends of a transmission do.
func BenchmarkMake(b *testing.B) {
	m, err := Make(1, File("file", FileSize))
	if err != nil {
		b.Fatal(err)
	}
	id := ID{Item: "file"}
	p, err := m.Open(id)
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, blockSize)
	b.Run("content", func(b *testing.B) {
		b.SetBytes(blockSize)
		for i := range b.N {
			_, _ = p.ReadAt(buffer, int64(i)%1000*1000)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.SetBytes(blockSize)
		_, _ = p.ReadAt(buffer, 1000)
		for range b.N {
			if err := m.Check(id, 1000, buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
