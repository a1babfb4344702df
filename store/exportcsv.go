package store

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// ExportCSV writes the raw values of a run, valid or not, as RFC 4180 CSV with
// a header: one line per load and metric, with all the axes. A text that a spreadsheet
// would take for a formula has an apostrophe before it.
func (s *Store) ExportCSV(w io.Writer, run int64) error {
	if err := s.exportCSV(w, run); err != nil {
		return fmt.Errorf("export run %d as CSV: %w", run, explain(err))
	}
	return nil
}

func (s *Store) exportCSV(w io.Writer, id int64) error {
	run, err := s.Run(id)
	if err != nil {
		return err
	}
	metrics, err := s.Metrics(id)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, exportBuffer)
	first, err := csvFields(header)
	if err != nil {
		return err
	}
	_, _ = out.Write(append(first, "\r\n"...)) // Flush returns the first error
	if _, err := s.writeRows(out, run, metrics, csvRows); err != nil {
		return err
	}
	return out.Flush()
}

// csvRows writes rows as lines of CSV.
var csvRows = rowFormat{begin: csvBegin, metric: csvMetric, value: csvValue}

func csvBegin(about []any) ([]byte, error) {
	fields := make([]string, len(about))
	for i, v := range about {
		switch v := asText(v).(type) {
		case nil:
		case float64:
			fields[i] = decimal(v)
		case string:
			fields[i] = Inert(v)
		default:
			fields[i] = fmt.Sprint(v)
		}
	}
	text, err := csvFields(fields)
	return append(text, ','), err
}

func csvMetric(name, unit string) ([]byte, error) {
	text, err := csvFields([]string{Inert(name), Inert(unit)})
	return append(text, ','), err
}

func csvValue(row []byte, v *float64) ([]byte, error) {
	if v != nil {
		row = strconv.AppendFloat(row, *v, 'f', -1, 64)
	}
	return append(row, "\r\n"...), nil
}

// csvFields returns fields as a line of CSV without its end.
func csvFields(fields []string) ([]byte, error) {
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	w.UseCRLF = true
	if err := w.Write(fields); err != nil {
		return nil, err
	}
	w.Flush()
	return bytes.TrimSuffix(line.Bytes(), []byte("\r\n")), w.Error()
}
