import type { HostMessage, PageState } from '../../src/protocol/page';
import type { OpenOptions, OpenPage } from './browser';

/** One thing a person does with a page and sees. */
export interface Case {
  readonly name: string;
  readonly options: OpenOptions;
  /** Sent before the steps; null sends nothing, as a host that is not there yet. */
  readonly state: () => PageState | null;
  /** Resolves to a line worth printing, or nothing. */
  readonly steps: (open: OpenPage) => Promise<string | undefined>;
}

/** The message that shows a state. */
export function show(state: PageState): HostMessage {
  return { type: 'state', state };
}

/** Waits until a condition holds. @throws Error with `what` when it does not within 3 s. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 3000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`still waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
