import type { WorkerRequest } from '../../protocol/worker';

/** Most memory of the planner's objects, MB; typed arrays come on top, and the planner counts them before it makes them. */
export const memoryLimitMb = 1024;

/** What goes to a planner's process: requests, which of them to give up, and whether it still answers. */
export type ProcessRequest = WorkerRequest | { readonly type: 'give-up'; readonly id: number } | { readonly type: 'ping' };

/** Why a process ended: what its thread threw, or that something outside stopped or killed it. */
export interface ProcessEnd {
  readonly cause: Error;
  /** Whether the same request may well be answered by another process. */
  readonly fromOutside: boolean;
}

export interface ProcessOptions {
  /** Gets what the planner's thread answers, unchecked. */
  readonly onReply: (reply: unknown) => void;
  /** Called once, however the process ended, unless it was stopped. */
  readonly onEnd: (end: ProcessEnd) => void;
  /** How often a process that is waited for is asked whether it still answers, ms. */
  readonly pingMs: number;
}

/** A planner outside this thread: in VS Code in a process of its own, in a browser in a web worker. */
export interface PlannerProcess {
  readonly send: (message: ProcessRequest) => void;
  /** Whether any reply has come. */
  readonly hasAnswered: () => boolean;
  /**
   * Whether our own process waits for it. While it does, one that no longer answers, such as a stopped one, is ended; one that has never
   * answered is still starting, however long that takes.
   */
  readonly hold: (waits: boolean) => void;
  /** Kills it; resolves when it is gone. */
  readonly stop: () => Promise<void>;
}

/** Starts a planner. */
export type StartPlanner = (options: ProcessOptions) => PlannerProcess;
