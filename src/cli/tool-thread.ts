export { serveTools } from '../features/agents/cli/tool-jobs';
export { serveToolRequests } from '../features/agents/worker/serve-tools';
