// Usage: node parquet.mjs READERS FILE : prints the rows of a Parquet file as JSON, a list of texts each: a timestamp in
// nanoseconds since 1970, null as an empty text. The first row has the columns' names.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [readers, file] = process.argv.slice(2);
const { resolve } = createRequire(join(readers, 'package.json'));
const load = (name) => import(pathToFileURL(resolve(name)));
const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await load('hyparquet');

const buffer = await asyncBufferFromFile(file);
const metadata = await parquetMetadataAsync(buffer);
const names = metadata.schema.slice(1).map((column) => column.name);
const rows = await parquetReadObjects({ file: buffer, metadata, parsers: { timestampFromNanoseconds: (n) => n } });
const text = (value) => (value === null || value === undefined ? '' : String(value));
console.log(JSON.stringify([names, ...rows.map((row) => names.map((name) => text(row[name])))]));
