/** Characters of one line that are read: a trainer's line is far shorter. */
export const longestLine = 2 ** 14;

const escape = String.fromCharCode(27);
/** Colours and cursor movements of a terminal; what is copied from one keeps their ends. */
const colours = new RegExp(`${escape}\\[[0-9;?]{0,20}[A-Za-z]|\\[\\d{1,3}(?:;\\d{1,3}){0,4}m`, 'g');

/** A text of a log without what colours it. */
export function plainText(text: string): string {
  return text.replace(colours, '');
}

/** The number that a pattern captures first, thousands separators left out; null: it is missing, or no number above 0. */
export function numberIn(text: string, pattern: RegExp): number | null {
  const written = pattern.exec(text)?.[1];
  if (written === undefined) return null;
  const value = Number(written.replaceAll(',', ''));
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** A count as a dump of settings writes it; null: it is none. */
export function countIn(written: string | undefined): number | null {
  return written !== undefined && /^\d{1,15}$/.test(written) ? Number(written) : null;
}

/** When a logger wrote a line (`2025-11-25 19:45:01,441`), ms since some moment; null: unknown. */
export function timestampIn(text: string): number | null {
  const [, ...parts] = /(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?/.exec(text) ?? [];
  const [year, month, day, hours, minutes, seconds] = parts.map(Number);
  if (year === undefined || month === undefined || day === undefined) return null;
  const whole = ((daysBefore(year, month) + day) * 24 + (hours ?? 0)) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0);
  return (whole + Number(`0.${parts[6] ?? '0'}`)) * 1e3;
}

/** Days from some day to the beginning of a month of the Gregorian calendar. */
function daysBefore(year: number, month: number): number {
  // years begin in March, so that a leap day is the last of one
  const since = month < 3 ? year - 1 : year;
  return (
    365 * since + Math.floor(since / 4) - Math.floor(since / 100) + Math.floor(since / 400) + Math.floor((153 * ((month + 9) % 12) + 2) / 5)
  );
}
