import type { Plan } from '../core/planner/plan';
import type { PlanRequest } from '../core/planner/request';

/** Client to worker. */
export type WorkerRequest =
  { readonly type: 'plan'; readonly id: number; readonly request: PlanRequest } | { readonly type: 'cancel'; readonly id: number };

/** Worker to client. A cancelled request is answered by `cancelled`; an error keeps its code and remedy. */
export type WorkerReply =
  | { readonly type: 'progress'; readonly id: number; readonly fraction: number }
  | { readonly type: 'plan'; readonly id: number; readonly plan: Plan }
  | { readonly type: 'cancelled'; readonly id: number }
  | {
      readonly type: 'error';
      readonly id: number;
      readonly error: { readonly code: string; readonly message: string; readonly remedy: string; readonly stack: string | null };
    };
