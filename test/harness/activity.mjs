// @ts-check
// What a process and all that it started have done so far, where the system reports it: Linux. Elsewhere only whether it lives is known.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The kernel counts processor time in these; it is 100 a second on every Linux that Node.js runs on. */
const ticksPerSecond = 100;

/**
 * @typedef {object} Activity
 * @property {number} processorS seconds of processor time, of processes that live or were waited for
 * @property {number} readBytes from disk
 */

/**
 * @param {number} pid
 * @param {string} [processes] the folder that the kernel fills
 * @returns {Activity | null} of the process and its descendants; null where the system does not report it or the process is gone
 */
export function activityOf(pid, processes = '/proc') {
  /** @type {Map<number, { parent: number, processorS: number }>} */
  const known = new Map();
  for (const name of foldersIn(processes)) {
    // After the name, which is in brackets and may hold anything: state, parent, ...; see proc(5).
    const fields =
      textOf(path.join(processes, name, 'stat'))
        .split(') ')
        .at(-1)
        ?.split(' ') ?? [];
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    if (!Number.isNaN(ticks)) known.set(Number(name), { parent: Number(fields[1]), processorS: ticks / ticksPerSecond });
  }
  if (!known.has(pid)) return null;
  const family = [pid];
  for (const member of family) family.push(...[...known].filter(([, { parent }]) => parent === member).map(([child]) => child));
  return {
    processorS: family.reduce((sum, member) => sum + (known.get(member)?.processorS ?? 0), 0),
    readBytes: family.reduce((sum, member) => sum + readBytesOf(path.join(processes, String(member), 'io')), 0),
  };
}

/** @param {string} processes */
function foldersIn(processes) {
  try {
    return readdirSync(processes).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} file */
function readBytesOf(file) {
  return Number(/^read_bytes: (\d+)$/m.exec(textOf(file))?.[1] ?? 0);
}
