/** Whether this is `npm run test:full`, which has an hour rather than minutes. */
export const isFullRun = process.env['TERAPIPE_TESTS'] === 'full';

/**
 * How many cases a property is tried on.
 * @param usual under `npm test`: what a change that breaks the property is all but sure to meet, in less than a second if possible
 * @param full under `npm run test:full`
 */
export function cases(usual: number, full: number): number {
  return isFullRun ? full : usual;
}
