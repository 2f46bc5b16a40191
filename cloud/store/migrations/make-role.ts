/**
 * Roles belong to the whole server, so another database may have made it, now or at the same moment. A role that may
 * not make roles finds it made by an administrator. The application's role logs in nowhere and owns nothing; whoever
 * migrates becomes a member of it, so that `set role` is allowed: since PostgreSQL 16 that is a right of its own, which
 * making a role does not give.
 */
export const makeRole = (role: string) => `
do $$
begin
  if not exists (select from pg_roles where rolname = '${role}') then
    begin
      create role ${role} nologin nosuperuser nobypassrls;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  if not pg_has_role(current_user, '${role}',
      case when current_setting('server_version_num')::integer < 160000 then 'MEMBER' else 'SET' end) then
    execute format('grant ${role} to %I', current_user);
  end if;
end $$`;
