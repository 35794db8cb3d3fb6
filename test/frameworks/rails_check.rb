# The migration and the model of doc/searching.md: the table and its index are made by
# Active Record, and its scopes return what SQL does that says all itself.

require "active_record"
require "json"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: ENV.fetch("PGHOST"), port: ENV.fetch("PGPORT"),
  username: ENV.fetch("PGUSER"), database: ENV.fetch("PGDATABASE"))
load File.join(Dir.pwd, "library.rb")

cases = JSON.parse(File.read(File.join(__dir__, "cases.json")))
ActiveRecord::Migration.verbose = false
CreateArticles.migrate(:up)
cases["rows"].each { |title, body| Article.create!(title: title, body: body) }

connection = ActiveRecord::Base.connection
found = 0
cases["words"].each do |words|
  quoted = connection.quote(words)
  document = "to_tsvector('english', title || ' ' || body)"
  { best: "#{document} <@> skipidx_any('english', #{quoted}), id", newest: "id DESC" }.each do |scope, order|
    got = Article.public_send(scope, words).limit(10).pluck(:id)
    wanted = connection.select_values(<<~SQL)
      SELECT id FROM articles WHERE #{document} @@ websearch_to_tsquery('english', #{quoted})
      ORDER BY #{order} LIMIT 10
    SQL
    raise "#{scope} #{words}: #{got} instead of #{wanted}" unless got == wanted
    found += got.size
  end
end
raise "#{found} rows found" unless found >= 10

connection.execute("SET enable_seqscan = off")
connection.execute("SET enable_sort = off")
[:best, :newest].each do |scope|
  plan = Article.public_send(scope, "log").limit(10).explain
  raise plan unless plan.include?("articles_search") && !plan.include?("Sort")
end
CreateArticles.migrate(:down)
puts "Active Record #{ActiveRecord.version}: #{found} rows found"
