import type { Layout } from './request';

/** `TP2 PP8 DP8`, with context and expert parallelism where there are any. */
export function sizesText({ tensor, pipeline, data, context, expert, expertTensor = tensor }: Layout): string {
  const others = [
    ...(context > 1 ? [`CP${context}`] : []),
    ...(expert > 1 ? [`EP${expert}`] : []),
    ...(expertTensor === tensor ? [] : [`ETP${expertTensor}`]),
  ];
  return [`TP${tensor}`, `PP${pipeline}`, `DP${data}`, ...others].join(' ');
}
