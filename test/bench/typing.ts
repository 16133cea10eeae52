// Prints what typing costs: `npm run bench`. Work of one keystroke, from the text to the findings, and JSON.parse of as much text in the
// same run.
import { configError } from '../../src/core/errors';
import type { LauncherReader } from '../../src/core/run/facts';
import { loadConfig } from '../../src/core/config-files/load-config';
import { recogniseConfig } from '../../src/core/config-files/readers';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { longShell, longYaml, others } from './texts';
import { sentence } from '../../src/core/sentence';

const lines = 2000;
const keystrokes = 60;
const warmUp = 15;
const files = 20_000;
/** What a keystroke may take. */
const goalMs = 50;

interface Times {
  readonly medianMs: number;
  readonly worstMs: number;
}

function timesOf(durations: readonly number[]): Times {
  const sorted = durations.toSorted((a, b) => a - b);
  return { medianMs: sorted[Math.floor(sorted.length / 2)] ?? NaN, worstMs: sorted.at(-1) ?? NaN };
}

/** The text after each of some one-character edits, spread over it: digits typed and taken away, as people change a launcher. */
function typed(text: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const at = Math.floor((text.length * (index + 0.5)) / count);
    return index % 2 === 0 ? `${text.slice(0, at)}7${text.slice(at)}` : text.slice(0, at) + text.slice(at + 1);
  });
}

async function timesOfTyping(file: string, text: string, shell: LauncherReader): Promise<Times & { readonly findings: number }> {
  const world = {
    read: () => Promise.reject(configError('config-not-found', sentence`There is no other file`, sentence`create it`)),
    shell: () => Promise.resolve(shell),
  };
  const durations: number[] = [];
  let findings = 0;
  for (const edited of typed(text, warmUp + keystrokes)) {
    const began = performance.now();
    const format = recogniseConfig(file, edited);
    // An edit may break the syntax: reporting it is the work then.
    const config = format === null ? null : await loadConfig(file, edited, world).catch(() => null);
    durations.push(performance.now() - began);
    findings = Math.max(findings, config?.findings.length ?? 0);
  }
  return { ...timesOf(durations.slice(warmUp)), findings };
}

/** JSON.parse of a text of about as many characters, which what we do can be compared with on any machine. */
function timesOfBaseline(characters: number): Times {
  const entry = { name: 'num-layers', value: 48, unit: 'layers', known: true };
  const text = JSON.stringify(Array.from({ length: Math.ceil(characters / JSON.stringify(entry).length) }, () => entry));
  const durations = Array.from({ length: 100 }, () => {
    const began = performance.now();
    JSON.parse(text);
    return performance.now() - began;
  });
  return timesOf(durations);
}

async function printTyping(name: string, file: string, text: string, shell: LauncherReader): Promise<void> {
  const { medianMs, worstMs, findings } = await timesOfTyping(file, text, shell);
  const baseline = timesOfBaseline(text.length);
  console.log(
    `${name}, ${text.split('\n').length} lines, ${text.length} characters, ${findings} findings: median ${medianMs.toFixed(1)} ms, worst ${worstMs.toFixed(1)} ms ` +
      `(goal: under ${goalMs} ms); ${(medianMs / baseline.medianMs).toFixed(0)} times JSON.parse of as much text (${baseline.medianMs.toFixed(3)} ms)`,
  );
}

function printRecognising(): void {
  const texts = others(files);
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  const began = performance.now();
  const ours = texts.filter(({ file, text }) => recogniseConfig(file, text) !== null).length;
  const ms = performance.now() - began;
  console.log(
    `Recognising ${texts.length} files that are none of ours, ${(characters / 1e6).toFixed(1)} million characters: ${ms.toFixed(0)} ms in all, ${ours} taken for ours`,
  );
}

async function main(): Promise<void> {
  const shell = await shellReader();
  await printTyping('Shell script', 'launch.sh', longShell(lines), shell);
  await printTyping('Megatron YAML', 'arguments.yaml', longYaml(lines), shell);
  printRecognising();
}

void main();
