/**
 * Creates a role unless it exists. Roles belong to the whole server, so another database may have created it, even at the
 * same moment; if the login cannot create roles, an administrator must have created it. The application's role cannot log
 * in and owns nothing. The login that migrates becomes a member of it, so that `set role` is allowed: since PostgreSQL 16,
 * creating a role does not include that right.
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
