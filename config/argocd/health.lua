-- The health of MCPServers and AgentSessions for Argo CD, by the conditions that kstatus reads:
-- Stalled, disabled, Reconciling or not yet observed, Ready. Goes into the ConfigMap argocd-cm, once for each kind:
--   resource.customizations.health.mooring.dev_MCPServer: |
--     <this file>
local health = { status = "Progressing", message = "waiting for Mooring" }

local status = obj.status
if status == nil or status.conditions == nil then
  return health
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end

local function is_true(condition)
  return condition ~= nil and condition.status == "True"
end

local function told(to, condition)
  health.status = to
  if condition ~= nil and condition.message ~= nil and condition.message ~= "" then
    health.message = condition.message
  elseif condition ~= nil then
    health.message = condition.reason
  end
  return health
end

local ready = conditions["Ready"]

-- What was observed of an older generation says nothing about this one.
if status.observedGeneration ~= obj.metadata.generation then
  return health
end
if is_true(conditions["Stalled"]) then
  return told("Degraded", conditions["Stalled"])
end
if is_true(ready) and ready.reason == "Disabled" then
  return told("Suspended", ready)
end
if is_true(conditions["Reconciling"]) then
  return told("Progressing", conditions["Reconciling"])
end
if is_true(ready) then
  return told("Healthy", ready)
end
return told("Progressing", ready)
