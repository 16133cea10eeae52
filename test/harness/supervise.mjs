// @ts-check
// Runs one tier: counts its tests as they finish, reports every few seconds where it is, and stops it when nothing has happened for minutes.
// There is no limit on the whole: a slow machine takes longer and passes.
import { performance } from 'node:perf_hooks';
import { say, secondsSince } from './steps.mjs';

/**
 * @typedef {import('./events.mjs').TestEvent} TestEvent
 * @typedef {import('./events.mjs').Emit} Emit
 *
 * @typedef {object} Tier
 * @property {string} name
 * @property {number} quietMinutes it is stopped when nothing has started or finished for this many minutes
 * @property {(emit: Emit) => { readonly done: Promise<void>, readonly stop: () => Promise<void>, readonly left?: () => string }} start
 *   `done` rejects when the tier could not run; `stop` ends it and makes `done` settle; `left` names what else is waiting, like `12 of 180
 *   files`
 *
 * @typedef {object} Summary
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly Failure[]} failures
 *
 * @typedef {object} Failure
 * @property {string} name with its tier
 * @property {string} why
 */

/** What the events of a tier add up to. */
export function createTally() {
  const counts = { pass: 0, fail: 0, skip: 0 };
  let expected = 0;
  let reached = 0;
  /** @type {Failure[]} */
  const failures = [];
  /** @type {string[]} names in the order they started; one that runs twice at a time is in it twice */
  const running = [];
  /** @type {string[]} */
  const parts = [];
  return {
    /** @param {TestEvent} event */
    add(event) {
      if (event.kind === 'expect') expected += event.count;
      else if (event.kind === 'start') running.push(event.name);
      else if (event.kind === 'enter') parts.push(event.name);
      else if (event.kind === 'leave') parts.splice(parts.lastIndexOf(event.name), 1);
      else if (event.kind !== 'note') {
        const at = running.lastIndexOf(event.name);
        if (at >= 0) running.splice(at, 1);
        counts[event.kind] += 1;
        if (event.kind === 'fail') failures.push({ name: event.name, why: event.why });
        // A hook and a file that does not load fail without having been expected.
        if (at >= 0 || event.kind !== 'fail') reached += 1;
      }
    },
    failures,
    /** The tests that run; between tests the part that does. */
    running: () => [...(running.length > 0 ? running : parts)],
    done: () => counts.pass + counts.fail + counts.skip,
    notReached: () => expected - reached,
    counts,
    expected: () => expected,
  };
}

/** @param {string} text */
const oneLine = (text) => (text.length > 90 ? `${text.slice(0, 87)}...` : text).replaceAll('\n', ' ');

/** @param {() => void} tick */
function everySecond(tick) {
  const timer = setInterval(tick, 1000);
  return () => clearInterval(timer);
}

/**
 * @param {Tier} tier
 * @param {{ watch?: (tick: () => void) => () => void, print?: (label: string, text: string) => void }} [options] `watch` ticks once a
 * second until stopped
 * @returns {Promise<Summary>}
 */
export async function superviseTier(tier, { watch = everySecond, print = say } = {}) {
  const startMs = performance.now();
  const tally = createTally();
  let open = true;
  let quietTicks = 0;
  let ticks = 0;
  /** @type {Emit} */
  const emit = (event) => {
    if (!open) return;
    quietTicks = 0;
    tally.add(event);
    if (event.kind === 'note') print('', event.text);
    if (event.kind === 'fail') print(tier.name, `FAILED ${event.name}\n    ${event.why.trim().slice(0, 3000).replaceAll('\n', '\n    ')}`);
  };
  const { done, stop, left } = tier.start(emit);
  const sayProgress = () => {
    const total = tally.expected() > 0 && left === undefined ? ` of ${tally.expected()}` : '';
    const failed = tally.counts.fail > 0 ? `, ${tally.counts.fail} failed` : '';
    const running = tally.running().slice(-2).map(oneLine).join(' | ');
    print(tier.name, `${tally.done()}${total} done${failed}${left === undefined ? '' : `, ${left()}`}${running && `; now: ${running}`}`);
  };
  const quietLimit = tier.quietMinutes * 60;
  // Its own ticks, not the clock: a laptop that slept and a machine too busy to run us do not count.
  const stopWatch = watch(() => {
    ticks += 1;
    quietTicks += 1;
    if (ticks % 5 === 0) sayProgress();
    if (quietTicks < quietLimit || !open) return;
    const hanging = tally.running();
    const why = `stopped: nothing finished for ${tier.quietMinutes} minutes`;
    for (const name of hanging.length > 0 ? hanging : [tier.name]) emit({ kind: 'fail', name, why: `hangs, or waits for ever; ${why}` });
    open = false;
    void stop();
  });
  try {
    await done;
  } catch (error) {
    emit({ kind: 'fail', name: tier.name, why: `could not run: ${error instanceof Error ? error.message : String(error)}` });
  } finally {
    stopWatch();
    open = false;
  }
  const { pass, fail, skip } = tally.counts;
  const skipped = skip > 0 ? `, ${skip} skipped` : '';
  const notReached = tally.notReached() > 0 ? `, ${tally.notReached()} not reached` : '';
  const filesLeft = fail > 0 && left !== undefined ? ` (${left()})` : '';
  print(tier.name, `${pass} passed, ${fail} failed${skipped}${notReached}${filesLeft} in ${secondsSince(startMs)}`);
  return {
    passed: pass,
    failed: fail,
    skipped: skip,
    failures: tally.failures.map(({ name, why }) => ({ name: `${tier.name}: ${name}`, why })),
  };
}
