/** What the command's thread is started with. */
export interface ThreadData {
  readonly args: readonly string[];
  /** Print stacks of internal errors. */
  readonly debug: boolean;
}

/** Messages from the command's thread, in order: texts, that it heard of an interrupt and cleans up, and last how it ended. */
export type ThreadMessage =
  | { readonly type: 'out' | 'err' | 'progress' | 'status'; readonly text: string }
  | { readonly type: 'interrupted' }
  | { readonly type: 'ended'; readonly exitCode: number };

/** Messages to the command's thread: that the user interrupts, and that one text of its `out` is out. */
export type ThreadHears = 'interrupt' | 'out';
