// Usage: node har.mjs READERS PAGE HAR... : checks each HAR against the schemas of two validators, prints their objections
// as JSON, and writes a page that opens each HAR in two viewers. The page puts what they show into its element "result".
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [readers, page, ...files] = process.argv.slice(2);
const require = createRequire(join(readers, 'package.json'));
const { har: validate } = require('har-validator');
const { HarValidator } = require('@har-sdk/validator');

const hars = files.map((f) => JSON.parse(readFileSync(f, 'utf8')));
const objections = [];
for (const [i, har] of hars.entries()) {
  await validate(har).catch((e) => objections.push(`${files[i]}: har-validator: ${JSON.stringify(e.errors ?? String(e))}`));
  const errors = await new HarValidator().verify(har);
  if (errors.length > 0) objections.push(`${files[i]}: @har-sdk/validator: ${JSON.stringify(errors)}`);
}
console.log(JSON.stringify(objections));

const script = (name) => `<script src="file://${join(readers, 'node_modules', name)}"></script>`;
const safe = JSON.stringify(hars).replaceAll('<', '\\u003c');
writeFileSync(page, `<!doctype html><meta charset="utf-8"><title>HARs in other viewers</title>
<link rel="stylesheet" href="file://${join(readers, 'node_modules/perf-cascade/dist/perf-cascade.css')}">
<body style="width: 1200px"><pre id="result"></pre><div id="cascade"></div><div id="network"></div>
<script>
const problems = [];
window.onerror = (message) => { problems.push(String(message)); };
console.error = (...said) => { problems.push(said.map(String).join(' ')); };
</script>
${script('perf-cascade/dist/perf-cascade.min.js')}
${script('react/umd/react.production.min.js')}
${script('react-dom/umd/react-dom.production.min.js')}
${script('prop-types/prop-types.min.js')}
${script('eventemitter3/dist/eventemitter3.umd.min.js')}
<script>window.require$$2$1 = ReactDOM; window.EventEmitter = EventEmitter3;</script>
${script('network-viewer/umd/index.js')}
<script>
const hars = ${safe};
const network = document.getElementById('network');
// Effects of the viewer's components run after it has rendered.
const rendered = (har) => new Promise((done) => {
  ReactDOM.unmountComponentAtNode(network);
  ReactDOM.render(React.createElement(networkViewer.NetworkViewer, { data: har, options: { showTimeline: false, showImportHAR: false } }), network,
    () => setTimeout(done, 100));
});
(async () => {
  const shown = [];
  for (const har of hars) {
    const pages = (har.log.pages.length > 0 ? har.log.pages : [null]).map((_, i) => {
      const svg = perfCascade.fromHar(har, { selectedPage: i });
      document.getElementById('cascade').replaceChildren(svg);
      return svg.querySelectorAll('.row-item').length;
    });
    await rendered(har);
    shown.push({ cascade: pages, network: network.querySelectorAll('tbody tr').length });
  }
  document.getElementById('result').textContent = JSON.stringify({ shown, problems });
})().catch((e) => { document.getElementById('result').textContent = JSON.stringify({ shown: [], problems: [...problems, String(e.stack)] }); });
</script>`);
