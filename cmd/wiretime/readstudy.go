package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"wiretime/loader/session"
	"wiretime/media/storage"
	"wiretime/media/transport"
	"wiretime/protocol"
	"wiretime/runner"
	"wiretime/server"
	"wiretime/site"
	"wiretime/store"
	"wiretime/study"
	"wiretime/study/builtin"
	"wiretime/study/studyfile"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
	"wiretime/workload/upload"
)

// readStudy reads the named study or, to resume, the study in the store.
func readStudy(o runOptions, library site.Library) (*study.Study, error) {
	name, source, err := studySource(&o)
	if err != nil {
		return nil, err
	}
	s, err := parseStudy(name, source, library)
	if err == nil && o.quick {
		s.UseQuick()
	}
	if err == nil && o.repeats > 0 {
		err = input(s.UseRepeats(o.repeats))
	}
	if err == nil && o.clock != "" {
		err = input(s.UseClock(o.clock))
	}
	if err == nil && o.keep != "" {
		err = input(s.UseKeep(o.keep))
	}
	if err == nil && o.slot > 0 {
		err = useSlots(o, s)
	}
	if err == nil {
		err = checkCount(o, s.Keep)
	}
	return s, err
}

func parseStudy(name string, source []byte, library site.Library) (*study.Study, error) {
	return studyfile.Parse(name, source, studyfile.Vocabulary{
		Protocols: protocol.Names(), Loaders: pageload.Loaders(), SiteKnown: library.KnownRef, Strategy: strategyName,
		Servers: server.Names(), Placeholders: server.Placeholders(),
		Windows: studyfile.Windows{Name: pageload.WindowName, Refuse: pageload.RefuseWindow},
		Metrics: units(runner.Metrics(study.Pages())),

		Upload: upload.ParseReference, UploadMetrics: units(runner.Metrics(study.Uploads())),

		Transports: transport.Names(), Players: playback.Players(), Media: mediaSize,
		StreamMetrics: units(runner.Metrics(study.Streams())),

		CrowdMetrics: units(runner.Metrics(study.Crowds())),
	})
}

// units returns the units of metrics by name.
func units(metrics []study.Metric) map[string]string {
	units := map[string]string{}
	for _, m := range metrics {
		units[m.Name] = m.Unit
	}
	return units
}

// mediaSize returns the size of a file in octets, or 0 for a video.
func mediaSize(reference string) (int64, error) {
	item, err := storage.ParseMedia(reference)
	return item.Sizes[storage.Plain], err
}

// strategyName returns the canonical name of a strategy, which may have several.
func strategyName(word string) (string, error) {
	s, err := session.ParseStrategy(word)
	return s.String(), err
}

// studySource returns the study to measure: its file's name and text. If it resumes a quick run, it sets o.quick.
func studySource(o *runOptions) (name string, source []byte, err error) {
	if o.resume {
		return resumedSource(o)
	}
	return namedSource(o.study)
}

// namedSource returns the built-in study of that name, or else the study in that file.
func namedSource(named string) (name string, source []byte, err error) {
	if slices.Contains(builtin.Names(), named) {
		source, err = builtin.File(named)
		return named, source, err
	}
	source, err = readStudyFile(named)
	if errors.Is(err, fs.ErrNotExist) {
		_, unknown := builtin.File(named)
		return "", nil, input(fmt.Errorf("read the study %s: no such file; %w", named, unknown))
	}
	return named, source, input(err)
}

// readStudyFile reads no more of a file than is needed to see that it is too long.
func readStudyFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, studyfile.MaxSource+1))
}

// resumedSource returns the study of the store's unfinished run. If all its runs are finished,
// it returns the named study.
func resumedSource(o *runOptions) (name string, source []byte, err error) {
	unfinished, ok, err := resumable(o)
	if o.study != "" && (errors.Is(err, store.ErrNotStore) || err == nil && !ok) {
		return namedSource(o.study)
	}
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, input(fmt.Errorf("resume a run: store %s has no unfinished run", o.store))
	}
	if slots := runner.SlotsOf(unfinished.Environment); slots != nil {
		return "", nil, input(fmt.Errorf("resume run %d of store %s: it goes by the slots of schedule %s; continue that with wiretime schedule, or name another --store", unfinished.ID, o.store, slots.Schedule))
	}
	if err := checkQuick(o, unfinished); err != nil {
		return "", nil, err
	}
	if o.study == "" {
		return cmp.Or(runner.StudyFile(unfinished.Environment), unfinished.StudyName), []byte(unfinished.StudyText), nil
	}
	name, source, err = namedSource(o.study)
	if err == nil && string(source) != unfinished.StudyText {
		err = input(fmt.Errorf("resume run %d of store %s: it measures study %s, but %s is another study or has changed since the run began; leave out the study to continue the run, or name another --store",
			unfinished.ID, o.store, unfinished.StudyName, o.study))
	}
	return name, source, err
}

// resumable returns the run that --resume goes on with, and whether there is one: the store's unfinished run or, with --repeats, else the latest.
func resumable(o *runOptions) (run store.Run, ok bool, err error) {
	st, err := store.Open(o.store, store.Read)
	if err != nil {
		return run, false, err
	}
	defer st.Close()
	return toResume(st, o.repeats > 0)
}

// toResume returns the store's unfinished run or, if finished ones may be extended, else its latest.
func toResume(st *store.Store, extend bool) (run store.Run, ok bool, err error) {
	run, ok, err = st.UnfinishedRun()
	if ok || err != nil || !extend {
		return run, ok, err
	}
	runs, err := st.Runs()
	if err != nil || len(runs) == 0 {
		return run, false, err
	}
	return runs[len(runs)-1], true, nil
}

// checkQuick returns an error if a quick run would be continued as a full one, or a full one as a quick one. It
// sets o.quick to whether the unfinished run is a quick one.
func checkQuick(o *runOptions, unfinished store.Run) error {
	quick := unfinished.Quick()
	switch {
	case o.quick && !quick:
		return input(fmt.Errorf("resume run %d of store %s: it measures the whole study; leave out --quick, or name another --store", unfinished.ID, o.store))
	case quick && !o.quick && o.study != "":
		return input(fmt.Errorf("resume run %d of store %s: it is a quick run, which measures only a part of study %s; add --quick to continue it, or name another --store for a full run",
			unfinished.ID, o.store, unfinished.StudyName))
	}
	o.quick = quick
	return nil
}
