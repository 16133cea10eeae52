/** Milliseconds of a clock that all processes and threads of the machine share. */
export function machineClock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
