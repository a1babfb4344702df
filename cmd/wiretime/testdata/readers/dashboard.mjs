// Usage: node dashboard.mjs READERS DASHBOARD : checks a dashboard against the types that Grafana publishes, and parses its
// queries with Prometheus's grammar. Prints objections, and the metrics and labels of each query, as JSON.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [readers, file] = process.argv.slice(2);
const require = createRequire(join(readers, 'package.json'));
const { parser } = require('@prometheus-io/lezer-promql');
const dashboard = JSON.parse(readFileSync(file, 'utf8'));
const objections = [];

// Types have enums where JSON has their values.
const folder = mkdtempSync(join(tmpdir(), 'wiretime-dashboard-'));
const types = join(readers, 'node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen');
writeFileSync(join(folder, 'dashboard.ts'), `import type { Dashboard } from ${JSON.stringify(types)};
type Plain<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
export const dashboard: Plain<Dashboard> = ${JSON.stringify(dashboard, null, 1)};
`);
const tsc = spawnSync(process.execPath, [join(readers, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
  '--module', 'esnext', '--moduleResolution', 'bundler', join(folder, 'dashboard.ts')], { encoding: 'utf8' });
if (tsc.status !== 0) objections.push(`${tsc.stdout}${tsc.stderr}${tsc.error ?? ''}`);
rmSync(folder, { recursive: true });

const queries = [];
const add = (where, expression) => {
  // Grafana puts the values of its variables into the text.
  const text = expression.replaceAll(/\$\w+/g, 'x');
  const found = { where, metrics: [], labels: [] };
  parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError) objections.push(`${where}: ${expression} is not PromQL at ${node.from}`);
      if (node.name === 'Identifier') found.metrics.push(text.slice(node.from, node.to));
      if (node.name === 'LabelName') found.labels.push(text.slice(node.from, node.to));
    },
  });
  queries.push(found);
};
for (const panel of dashboard.panels) {
  for (const target of panel.targets) {
    add(panel.title, target.expr);
    for (const [, label] of (target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)) queries.at(-1).labels.push(label);
  }
}
for (const variable of dashboard.templating.list.filter((v) => v.type === 'query')) {
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(variable.query.query) ?? [];
  queries.push({ where: variable.name, metrics: [metric ?? variable.query.query], labels: [label ?? ''] });
}
console.log(JSON.stringify({ objections, queries }));
