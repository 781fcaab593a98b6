// Opens a page in each theme and width, takes pictures of it, and asks axe-core what people with other means would miss.
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [page_file, out, chromium, overlay, picture] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = execFileSync("sh", ["-c", `command -v "${chromium}"`]).toString().trim();
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
const views = [
  ["light-1280", 1280, "light"],
  ["dark-1280", 1280, "dark"],
  ["light-390", 390, "light"],
  ["dark-390", 390, "dark"],
];
let bad = 0;
for (const [name, width, theme] of views) {
  const page = await browser.newPage();
  const complain = (text) => { console.error(`${name}: ${text}`); bad += 1; };
  page.on("console", (message) => message.type() === "error" && complain(message.text()));
  page.on("pageerror", (error) => complain(String(error)));
  page.on("request", (request) => /^(file|data):/.test(request.url()) || complain(`asks for ${request.url()}`));
  await page.setViewport({ width, height: 900, deviceScaleFactor: 1 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  const started = Date.now();
  await page.goto(pathToFileURL(page_file).href);
  const loaded = Date.now() - started;
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (overflow > 0) complain(`${overflow} pixels wider than the window`);
  await page.screenshot({ path: `${out}/${name}.png` });
  if (overlay && name === "light-1280") await (await page.$(`#o-${overlay}`)).screenshot({ path: picture });
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  await page.screenshot({ path: `${out}/${name}-all.png`, fullPage: true });
  // The page allows no script of its own; the browser's own door is open to this one.
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run());
  for (const violation of found.violations) {
    const serious = ["serious", "critical"].includes(violation.impact);
    const text = `axe: ${violation.impact}: ${violation.id}: ${violation.nodes.length}: ${violation.nodes[0].html.slice(0, 160)}`;
    if (serious) complain(text); else console.log(`${name}: ${text}`);
  }
  // The keyboard reaches the table and then the overlays.
  const stops = [];
  for (let stop = 0; stop < 6; stop += 1) {
    await page.keyboard.press("Tab");
    stops.push(await page.evaluate(() => (document.activeElement.textContent || document.activeElement.tagName).trim().slice(0, 24)));
  }
  if (new Set(stops).size < 3) complain(`the keyboard gets nowhere: ${stops}`);
  console.log(`${name}: ${found.passes.length} rules of axe-core pass, ${found.violations.length} do not; loaded in ${loaded} ms; keyboard: ${stops.join(" > ")}`);
  await page.close();
}
await browser.close();
process.exit(bad > 0 ? 1 : 0);
