package main

import (
	"fmt"
	"slices"

	"wiretime/store"
	"wiretime/study"
)

// whatToKeep returns which valid loads of the run keep their artefacts. A flag changes what the store
// says, also of a run that is continued.
func whatToKeep(o runOptions, st *store.Store, id int64) (string, error) {
	if o.keep != "" {
		if err := st.SetKeep(id, o.keep); err != nil {
			return "", err
		}
	}
	r, err := st.Run(id)
	if err != nil || r.Keep == study.KeepAll || r.Keep == study.KeepCompressed {
		return r.Keep, err
	}
	if err := checkCount(o, r.Keep); err != nil {
		return "", err
	}
	plan, err := st.Plan(id)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(plan, func(p store.Planned) bool { return p.Cell.Clock() != study.ClockVirtual }) {
		fmt.Fprintf(stderr, "wiretime: note: keep: %s drops artefacts of loads on the real or the live clock, which nothing can bring back; --keep all keeps them\n", r.Keep)
	}
	return r.Keep, nil
}

// checkCount makes sure that counts, which are artefacts, are kept if the user wants them.
func checkCount(o runOptions, keep string) error {
	if o.count && (keep == study.KeepMedian || keep == study.KeepNone) {
		return input(fmt.Errorf("count what loads cost: the counts are artefacts, which keep: %s drops; add --keep all", keep))
	}
	return nil
}

// copyArtefacts writes the files of a load to a new folder as they were before they were compressed.
func copyArtefacts(st *store.Store, l store.Load, dir string) error {
	if l.Dropped {
		return input(fmt.Errorf("write the files of load %s: they were dropped; %s", l.ID, comeBack(st, l)))
	}
	if l.Artefacts == "" {
		return input(fmt.Errorf("write the files of load %s: it left none; it is %s", l.ID, l.Validity))
	}
	err := writeFolder(dir, func(made string) error { return store.Unpack(l.Artefacts, made) })
	if err != nil {
		return fmt.Errorf("write the files of load %s: %w", l.ID, err)
	}
	fmt.Fprintf(stderr, "Its files are in %s\n", dir)
	return nil
}

// comeBack says how the dropped artefacts of a load can be had again.
func comeBack(st *store.Store, l store.Load) string {
	if l.Cell.Clock() == study.ClockVirtual {
		return fmt.Sprintf("'wiretime reproduce %s --store %s' brings them back", l.ID, st.Dir())
	}
	return fmt.Sprintf("they cannot be brought back, since the load ran on the %s clock", l.Cell.Clock())
}
