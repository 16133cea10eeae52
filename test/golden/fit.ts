// Fits the constants of the time model to all measured runs, and again without each source: `npm run fit` prints constants and what is left
// of every source that was left out; `npm run fit -- --write` also writes the modules that hold them.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import { currentLogs } from './fit/constants';
import { fit, ratesModule } from './fit/left-out';
import { coverage, coverageGoals, kindsModule, rangesOf } from './measured-kinds';

const source = path.join(import.meta.dirname, '../../src/core');

async function written(file: string, text: string): Promise<void> {
  const target = path.join(source, file);
  const formatted = await format(text, { ...(await resolveConfig(target)), parser: 'typescript' });
  if (formatted !== readFileSync(target, 'utf8')) writeFileSync(target, formatted);
}

async function main(): Promise<void> {
  const fitted = await fit();
  for (const [key, log] of Object.entries(fitted.solution.logs)) {
    const { rows = 0, projects = [] } = fitted.support.get(key) ?? {};
    const [before, now] = [Math.exp(currentLogs[key] ?? NaN), Math.exp(log)].map((value) => value.toFixed(3));
    const spread = (100 * (fitted.solution.spreads[key] ?? NaN)).toFixed(0);
    console.log(`${key.padEnd(24)} ${before} -> ${now} give or take ${spread} %, ${rows} runs of ${projects.join(', ')}`);
  }
  const percent = (fraction: number): string => `${(100 * fraction).toFixed(1)} %`.padStart(8);
  console.log(`\n${'left out'.padEnd(28)} rows    fitted    error     bias   inside   half width`);
  for (const { source: name, rows, fitted: own, error, bias, inside, width } of coverage(fitted.runs))
    console.log(name.padEnd(28), String(rows).padStart(4), percent(own), percent(error), percent(bias), percent(inside), percent(width));
  for (const { name, found, goal, met } of coverageGoals(fitted.runs))
    console.log(`${name}: ${found} (${goal}) ${met === true ? 'pass' : 'not reached'}`);
  if (!process.argv.includes('--write')) return;
  await written('cluster/gpus/fitted-rates.ts', ratesModule(fitted));
  await written('time-model/measured-kinds.ts', kindsModule(rangesOf(fitted.runs)));
}

void main();
