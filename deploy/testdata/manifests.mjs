// Usage: node manifests.mjs READERS < OBJECTS : checks Kubernetes objects, an array of JSON, against the types of its API and of KEDA's,
// which allow no unknown keys, and against the schemas behind them. Prints objections as JSON.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const readers = resolve(process.argv[2]);
const objects = JSON.parse(readFileSync(0, 'utf8'));
const objections = [];

const folder = mkdtempSync(join(tmpdir(), 'wiretime-manifests-'));
const files = [];
for (const [i, object] of objects.entries()) {
  const model = ['kubernetes-models', '@kubernetes-models/keda'].map((name) => join(readers, 'node_modules', name, object.apiVersion, object.kind))
    .find((path) => existsSync(`${path}.js`));
  if (!model) {
    objections.push(`there is no ${object.kind} of ${object.apiVersion}`);
    continue;
  }
  const file = join(folder, `object-${i}.ts`);
  writeFileSync(file, `import type { I${object.kind} } from ${JSON.stringify(model)};
export const object: I${object.kind} = ${JSON.stringify(object, null, 1)};
`);
  files.push(file);
  try {
    new (await import(`${model}.js`))[object.kind](object).validate();
  } catch (error) {
    objections.push(`${object.kind}: ${error.message}`);
  }
}
if (files.length > 0) {
  const tsc = spawnSync(process.execPath, [join(readers, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
    '--module', 'esnext', '--moduleResolution', 'bundler', ...files], { encoding: 'utf8' });
  if (tsc.status !== 0) objections.push(`${tsc.stdout}${tsc.stderr}${tsc.error ?? ''}`);
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify(objections));
