package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"wiretime/study"
)

// ExportJSON writes the same rows as ExportCSV, in "rows", after the run itself (study,
// seed, environment), the definitions of its metrics, the published figures and claims
// about its cells, and its workers.
func (s *Store) ExportJSON(w io.Writer, run int64) error {
	if err := s.exportJSON(w, run); err != nil {
		return fmt.Errorf("export run %d as JSON: %w", run, explain(err))
	}
	return nil
}

// exported is an export as JSON.
type exported struct {
	Run       exportedRun    `json:"run"`
	Metrics   []study.Metric `json:"metrics"`
	Published []Figure       `json:"published,omitempty"`
	Claims    []Claim        `json:"claims,omitempty"`
	Workers   []Worker       `json:"workers,omitempty"`
	Rows      []struct{}     `json:"rows"` // written apart
}

type exportedRun struct {
	ID          int64           `json:"id"`
	Study       string          `json:"study"`
	StudyText   string          `json:"study_text"`
	Seed        uint64          `json:"seed,string"`
	Version     string          `json:"wiretime_version"`
	Environment json.RawMessage `json:"environment"`
	Started     time.Time       `json:"started"`
	Finished    *time.Time      `json:"finished"`
	Planned     int             `json:"planned"`
	Done        int             `json:"done"`
	Keep        string          `json:"keep"`
}

func (s *Store) exportJSON(w io.Writer, id int64) error {
	run, document, err := s.aboutRun(id)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return err
	}
	const end = "]\n}"
	out := bufio.NewWriterSize(w, exportBuffer)
	// Flush returns the first error.
	_, _ = out.Write(bytes.TrimSuffix(text, []byte(end)))
	rows, err := s.writeRows(out, run, document.Metrics, jsonRows)
	if err != nil {
		return err
	}
	if rows > 0 {
		_, _ = out.WriteString("\n ")
	}
	_, _ = out.WriteString(end + "\n")
	return out.Flush()
}

// aboutRun returns a run, and all of its export but the rows.
func (s *Store) aboutRun(id int64) (Run, exported, error) {
	run, err := s.Run(id)
	if err != nil {
		return Run{}, exported{}, err
	}
	document := exported{
		Run: exportedRun{ID: run.ID, Study: run.StudyName, StudyText: run.StudyText, Seed: run.Seed, Version: run.Version,
			Environment: run.Environment, Started: run.Started.UTC(), Planned: run.Planned, Done: run.Done, Keep: run.Keep},
		Rows: []struct{}{},
	}
	if !run.Finished.IsZero() {
		finished := run.Finished.UTC()
		document.Run.Finished = &finished
	}
	if document.Metrics, err = s.Metrics(id); err != nil {
		return Run{}, exported{}, err
	}
	if document.Published, err = s.Published(id); err != nil {
		return Run{}, exported{}, err
	}
	if document.Claims, err = s.Claims(id); err != nil {
		return Run{}, exported{}, err
	}
	document.Workers, err = s.Workers(id)
	return run, document, err
}

// jsonRows writes rows as the elements of a list, which are objects with the keys of header in their order.
var jsonRows = rowFormat{begin: jsonBegin, metric: jsonMetric, value: jsonValue, between: ","}

func jsonBegin(about []any) ([]byte, error) {
	text := []byte("\n  {\n")
	for i, v := range about {
		member, err := jsonMember(header[i], v)
		if err != nil {
			return nil, err
		}
		text = append(append(text, member...), ",\n"...)
	}
	return text, nil
}

func jsonMetric(name, unit string) ([]byte, error) {
	columns := header[len(header)-3:]
	first, err := jsonMember(columns[0], name)
	if err != nil {
		return nil, err
	}
	second, err := jsonMember(columns[1], unit)
	return fmt.Appendf(nil, "%s,\n%s,\n   %q: ", first, second, columns[2]), err
}

func jsonValue(row []byte, v *float64) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(append(row, text...), "\n  }"...), err
}

// jsonMember returns a member of a row, in a line of its own.
func jsonMember(key string, v any) ([]byte, error) {
	value, err := json.Marshal(asText(v))
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", key, err)
	}
	return fmt.Appendf(nil, "   %q: %s", key, value), nil
}
