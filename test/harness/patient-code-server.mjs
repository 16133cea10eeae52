// @ts-check
// Loaded into code-server before its own code. Its outer process gives the inner one 10 seconds to load and then ends with "timed out";
// from a
// cold disk, or on a busy machine, that is not enough. This one timer, no other, gets half an hour: whoever starts it watches whether it is
// at work.
const usual = globalThis.setTimeout;

/** Whether the timer is set by code-server's handshake between its two processes. */
const isHandshake = () => /code-server[\\/]out[\\/]node[\\/]wrapper\.js/.test(new Error().stack ?? '');

/** @type {(callback: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) => NodeJS.Timeout} */
const patient = (callback, delayMs, ...args) => usual(callback, delayMs === 10_000 && isHandshake() ? 30 * 60_000 : delayMs, ...args);

Object.assign(globalThis, { setTimeout: Object.defineProperties(patient, Object.getOwnPropertyDescriptors(usual)) });
