#!/usr/bin/env node
// check.mjs PAGE...: has Lighthouse judge the accessibility of pages, each an HTML file or an http address on this machine, and measures
// when a page can be used. It ends with 1 if a score is below 95, and names the audits that failed.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const wanted = 0.95;

/** served answers with one file, whatever is asked for, and returns its address; what follows a # names a part of the page. */
async function served(page) {
  const [file, part] = page.split("#");
  const body = await readFile(file);
  const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { address: `http://127.0.0.1:${server.address().port}/${part === undefined ? "" : `#${part}`}`, close: () => server.close() };
}

async function judge(chrome, page) {
  const { address, close } = /^https?:/.test(page) ? { address: page, close: () => {} } : await served(page);
  try {
    let fine = true;
    for (const formFactor of ["desktop", "mobile"]) {
      const screen = formFactor === "desktop" ? { mobile: false, width: 1280, height: 900, deviceScaleFactor: 1, disabled: false } : undefined;
      const { lhr } = await lighthouse(address, {
        port: chrome.port, logLevel: "error", onlyCategories: ["accessibility", "performance"], formFactor, throttlingMethod: "provided",
        ...(screen === undefined ? {} : { screenEmulation: screen }),
      });
      if (lhr.runtimeError) throw new Error(`${page}: ${lhr.runtimeError.message}`);
      const { score, auditRefs } = lhr.categories.accessibility;
      const ms = (id) => Math.round(lhr.audits[id]?.numericValue ?? NaN);
      console.log(`${page}, ${formFactor}: accessibility ${Math.round(100 * score)}, can be used after ${ms("interactive")} ms, blocked for ${ms("total-blocking-time")} ms`);
      for (const { id } of auditRefs.filter(({ id, weight }) => weight > 0 && (lhr.audits[id].score ?? 1) < 1)) {
        console.log(`  ${lhr.audits[id].title}`);
        for (const item of (lhr.audits[id].details?.items ?? []).slice(0, 5)) console.log(`    ${item.node?.snippet ?? ""} ${item.node?.explanation?.replaceAll("\n", " ") ?? ""}`);
      }
      fine &&= score >= wanted;
    }
    return fine;
  } finally {
    close();
  }
}

const pages = process.argv.slice(2);
if (pages.length === 0) {
  console.error("usage: check.mjs PAGE..., each an HTML file or an http address");
  process.exit(2);
}
const chrome = await launch({ chromePath: process.env.CHROME_PATH, chromeFlags: ["--headless=new", "--no-sandbox", "--disable-gpu"], logLevel: "silent" });
let fine = true;
try {
  for (const page of pages) fine = (await judge(chrome, page)) && fine;
} finally {
  chrome.kill();
}
process.exit(fine ? 0 : 1);
